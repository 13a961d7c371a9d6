// Whole plans, as text, for the requests that matter: a change to what a cell is made of shows up
// as a diff of compile/*.plan. ODYSSEY_UPDATE_GOLDEN=1 rewrites them, and fails where one changed.

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "policy/compile/compile.h"

namespace odyssey::compile {
namespace {

using plan::Entry;
using plan::EntryKind;
using policy::SandboxRequest;

HostFacts DebianFacts() {
  return {.system = {{"/usr", ""},
                     {"/opt", ""},
                     {"/bin", "usr/bin"},
                     {"/sbin", "usr/sbin"},
                     {"/lib", "usr/lib"},
                     {"/lib64", "usr/lib64"},
                     {"/etc/alternatives", ""},
                     {"/etc/ld.so.cache", ""},
                     {"/etc/localtime", "/usr/share/zoneinfo/Etc/UTC"},
                     {"/etc/ssl", ""},
                     {"/etc/resolv.conf", "../run/systemd/resolve/stub-resolv.conf"}},
          .landlock = {landlock::Probe::kInForce, 6},
          .check = {.own_directories = {"/var/lib/odyssey", "/run/odyssey", "/etc/odyssey"},
                    .bundle_store = "/var/lib/odyssey/agentd/bundles",
                    .max_memory_bytes = 0,
                    .max_pids = 0}};
}

const char* KindName(EntryKind kind) {
  static constexpr const char* kNames[] = {"directory", "symlink",   "file", "tmpfs",
                                           "cell_tree", "host_tree", "part"};
  return kNames[static_cast<size_t>(kind)];
}

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '\n' ? std::string("\\n") : std::string(1, c);
  return out + "\"";
}

void PrintEntry(const Entry& entry, std::ostream& out) {
  out << "entry " << entry.target << " " << KindName(entry.kind);
  if (!entry.source.empty()) out << " " << Quoted(entry.source);
  const bool is_mount = entry.kind == EntryKind::kTmpfs || entry.kind == EntryKind::kCellTree ||
                        entry.kind == EntryKind::kHostTree || entry.kind == EntryKind::kPart;
  if (is_mount) {
    out << (entry.access == plan::Access::kReadWrite ? " rw" : " ro")
        << (entry.executable ? " exec" : " noexec");
  }
  if (entry.kind == EntryKind::kHostTree) {
    out << (entry.ownership == plan::Ownership::kMapped ? " mapped" : " unmapped");
  }
  if (entry.size_bytes != 0) out << " size=" << entry.size_bytes;
  out << "\n";
}

std::string RightsText(uint8_t rights) {
  std::string text;
  if ((rights & cell::kRead) != 0) text += "r";
  if ((rights & cell::kWrite) != 0) text += "w";
  if ((rights & cell::kExecute) != 0) text += "x";
  return text;
}

std::string ToText(const Compiled& compiled) {
  std::ostringstream out;
  out << "network " << (compiled.plan.network == plan::Network::kFull ? "full" : "none")
      << "\nuser " << compiled.plan.user << "\n";
  out << "memory_bytes " << compiled.plan.memory_bytes << "\ncpu_millis "
      << compiled.plan.cpu_millis << "\npids " << compiled.plan.pids << "\ntmp_bytes "
      << compiled.plan.tmp_bytes << "\n";
  for (const Entry& entry : compiled.plan.entries) PrintEntry(entry, out);
  for (const auto& rule : compiled.confinement.rules) {
    out << "landlock " << rule.path << " " << RightsText(rule.rights) << "\n";
  }
  for (const auto& root : compiled.confinement.tool_roots) out << "tool_root " << root.path << "\n";
  for (const auto& variable : compiled.base_env) out << "env " << variable << "\n";
  for (const auto& line : compiled.explanation) out << "why " << line << "\n";
  out << "digest " << compiled.digest << "\n";
  return out.str();
}

struct Golden {
  const char* name;
  SandboxRequest request;
  FoundExecutables found;
};

const Golden kGoldens[] = {
    {"default", {}},
    {"read_only_with_mirrored_mounts",
     {.mode = policy::Mode::kReadOnly,
      .mounts = {{"/home/u/project", "/workspace/mount/write/current", policy::Access::kReadWrite},
                 {"/srv/data", "/workspace/mount/read/abs/srv/data", policy::Access::kReadOnly}},
      .env = {{"LANG", "de_DE.UTF-8"}}}},
    {"host_workspace_full_network",
     {.network = policy::Network::kFull,
      .mounts = {{"/srv/data", "/data", policy::Access::kReadOnly}},
      .limits = {.memory_bytes = uint64_t{512} << 20, .cpu_millis = 1000, .pids = 64},
      .workspace = "/home/u/project"}},
    {"ephemeral_all_executables",
     {.executables_mode = policy::ExecutablesMode::kAll, .ephemeral = true}},
    {"explicit_executables",
     {.executables_mode = policy::ExecutablesMode::kExplicit,
      .executables = {"git", "/srv/tool"},
      .mounts = {{"/srv/bundle/bin", "/bundle/bin", policy::Access::kReadOnly, true}}},
     {.files = {{"/usr/bin/git", true, "named git"},
                {"/usr/lib/git-core", true, "git's own commands, of /usr/bin/git"},
                {"/usr/lib/ld.so", true, "interpreter of /usr/bin/git"},
                {"/usr/lib/libz.so.1", false, "library of /usr/bin/git"}},
      .notes = {"libx.so: missing: a library of /usr/bin/git"},
      .identity = "0123"}},
};

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(CompileGoldenTest, MakesThePlansOnRecord) {
  for (const Golden& golden : kGoldens) {
    const Result<Compiled> compiled = Compile(golden.request, DebianFacts(), golden.found);
    ASSERT_TRUE(compiled.ok()) << golden.name << ": " << compiled.status().ToString();
    const std::string path = std::string(ODYSSEY_GOLDEN_DIR) + "/" + golden.name + ".plan";
    EXPECT_EQ(ReadText(path), ToText(*compiled)) << path;
    if (std::getenv("ODYSSEY_UPDATE_GOLDEN") != nullptr) {
      std::ofstream(path) << ToText(*compiled);
    }
  }
}

}  // namespace
}  // namespace odyssey::compile
