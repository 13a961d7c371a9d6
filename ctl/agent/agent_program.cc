#include "ctl/agent/agent_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <optional>

#include "ctl/base/child_program.h"

namespace odyssey::ctl {
namespace {

constexpr std::string_view kModules = "/node_modules";
constexpr size_t kFirstLine = 64;
constexpr size_t kMaxPrinted = 4096;

// Every cell shows these, and no cell writes them. Nothing else is executed here to look for an
// agent: it may be what a cell left in a workspace.
bool IsSystems(const std::string& path) {
  return path.rfind("/usr/", 0) == 0 || path.rfind("/opt/", 0) == 0;
}

// The absolute name of an executable file, without links; nullopt if there is none.
std::optional<std::string> ExecutableAt(const std::string& path, NamedPlaces* places) {
  const Walk& walk = places->Look(path, Links::kFileItself);
  if (!walk.place || !S_ISREG(walk.place->mode())) return std::nullopt;
  if ((walk.place->mode() & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0) return std::nullopt;
  return walk.place->name();
}

std::optional<std::string> InSearchPath(const std::string& name, const ProgramSearch& search) {
  std::string_view rest = search.path;
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const std::string directory(rest.substr(0, colon));
    rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
    if (directory.empty() || directory.front() != '/') continue;  // "." is for no one to choose
    if (auto found = ExecutableAt(directory + "/" + name, search.places)) return found;
  }
  return std::nullopt;
}

// The outermost node_modules of a path; "" if it is in none.
std::string ModulesOf(const std::string& path) {
  const size_t at = path.find(std::string(kModules) + "/");
  return at == std::string::npos ? "" : path.substr(0, at + kModules.size());
}

// The directory itself, the one in it, or the one of npm's prefix.
std::optional<std::string> ModulesIn(const std::string& directory, NamedPlaces* places) {
  if (directory.ends_with(kModules)) return directory;
  for (const char* below : {"/node_modules", "/lib/node_modules"}) {
    const Walk& walk = places->Look(directory + below, Links::kBelow);
    if (walk.place && walk.place->is_directory()) return walk.place->name();
  }
  return std::nullopt;
}

// What the child prints, without the end of its line; "" if it fails.
std::string Printed(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {program};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  Result<ChildProgram> child = ChildProgram::Start(program, std::move(argv));
  if (!child.ok()) return "";
  std::string out(kMaxPrinted, '\0');
  size_t size = 0;
  for (ssize_t n = 1; n > 0 && size < out.size();) {
    n = read(child->output(), out.data() + size, out.size() - size);
    if (n > 0) size += static_cast<size_t>(n);
  }
  if (child->Wait() != 0) return "";
  out.resize(size);
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

// The program of a package in a node_modules, or nested in its dependent's own.
std::optional<std::string> InModules(const AgentProfile& profile, const std::string& modules,
                                     NamedPlaces* places) {
  for (const std::string& below : profile.programs) {
    for (const std::string& start :
         {modules + "/" + profile.package + "/node_modules/", modules + "/"}) {
      const Walk& walk = places->Look(start + below, Links::kFileItself);
      if (walk.place && S_ISREG(walk.place->mode())) return walk.place->name();
    }
  }
  return std::nullopt;
}

struct Found {
  std::string file, modules;
};

Status NotThere(const AgentProfile& profile, const std::string& where) {
  return NotFound(where + ": no " + profile.command + " of " + profile.package +
                  "; npm install -g " + profile.package + ", or --program names its node_modules");
}

Result<Found> FindFile(const AgentProfile& profile, const ProgramSearch& search) {
  std::string modules, file;
  if (!search.program.empty()) {
    const Walk& walk = search.places->Look(search.program, Links::kFileItself);
    if (!walk.status.ok()) return walk.status;
    const std::string& name = walk.place->name();
    if (walk.place->is_directory()) {
      modules = ModulesIn(name, search.places).value_or("");
      if (modules.empty()) return NotThere(profile, search.program);
    } else {
      file = name;
    }
  } else if (const auto found = InSearchPath(profile.command, search)) {
    file = *found;
  } else if (const auto npm = InSearchPath("npm", search); npm && IsSystems(*npm)) {
    modules = Printed(*npm, {"root", "-g"});
  }
  if (!file.empty()) modules = ModulesOf(file);
  if (!modules.empty()) {
    if (const auto in = InModules(profile, modules, search.places)) return Found{*in, modules};
  }
  if (file.empty()) return NotThere(profile, modules.empty() ? "$PATH and npm root -g" : modules);
  return Found{file, modules};
}

bool IsScriptOfNode(const std::string& file, NamedPlaces* places) {
  const Walk& walk = places->Look(file, Links::kFileItself);
  if (!walk.place) return false;
  const Result<UniqueFd> fd = walk.place->OpenFile();
  if (!fd.ok()) return false;
  char line[kFirstLine];
  const ssize_t n = read(fd->get(), line, sizeof(line));
  const std::string_view text(line, n > 0 ? static_cast<size_t>(n) : 0);
  const std::string_view first = text.substr(0, text.find('\n'));
  return first.starts_with("#!") && first.find("node") != std::string_view::npos;
}

Result<std::string> FindNode(const AgentProfile& profile, const ProgramSearch& search) {
  const std::string need = "Node " + std::to_string(profile.node) + " or newer";
  std::string node;
  if (search.node.empty()) {
    node = InSearchPath("node", search).value_or("");
    if (node.empty()) return FailedPrecondition("node: not in $PATH; --node names one: " + need);
  } else {
    const auto found = ExecutableAt(search.node, search.places);
    if (!found) return FailedPrecondition("--node " + search.node + ": no executable file");
    node = *found;
  }
  if (!IsSystems(node)) return node;
  const std::string version = Printed(node, {"--version"});  // "v22.1.0"
  uint64_t major = 0;
  if (version.size() > 1)
    std::from_chars(version.data() + 1, version.data() + version.size(), major);
  if (major >= profile.node) return node;
  return FailedPrecondition(node + ": " + (version.empty() ? "says no version" : "is " + version) +
                            "; --node names another one: " + need);
}

}  // namespace

Result<AgentProgram> FindAgentProgram(const AgentProfile& profile, const ProgramSearch& search) {
  ODY_ASSIGN_OR_RETURN(const Found found, FindFile(profile, search));
  AgentProgram out;
  out.trees.push_back(found.modules.empty() ? found.file : found.modules);
  if (IsScriptOfNode(found.file, search.places)) {
    ODY_ASSIGN_OR_RETURN(out.executable, FindNode(profile, search));
    out.argv = {out.executable, found.file};
    if (out.executable.rfind(out.trees.front() + "/", 0) != 0) out.trees.push_back(out.executable);
  } else {
    out.executable = found.file;
    out.argv = {found.file};
  }
  std::erase_if(out.trees, IsSystems);
  return out;
}

}  // namespace odyssey::ctl
