// Whole requests, as text, for files of every dialect: the examples, and files that use every key.
// ODYSSEY_UPDATE_GOLDEN=1 rewrites dialect/*.request, and fails where one changed.

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "policy/dialect/approvals.h"
#include "policy/dialect/policy_reader.h"
#include "policy/model/policy_keys.h"
#include "tests/fakes/fake_policy_host.h"

namespace odyssey::dialect {
namespace {

using policy::SandboxRequest;

const char* NameOf(policy::Mode mode) {
  static constexpr const char* kNames[] = {"read_only", "workspace_write", "danger_full_access"};
  return kNames[static_cast<size_t>(mode)];
}

const char* NameOf(policy::Network network) {
  static constexpr const char* kNames[] = {"none", "full", "egress"};
  return kNames[static_cast<size_t>(network)];
}

const char* NameOf(policy::ExecutablesMode mode) {
  static constexpr const char* kNames[] = {"explicit", "standard", "all"};
  return kNames[static_cast<size_t>(mode)];
}

void PrintMount(const policy::Mount& mount, std::ostream& out) {
  out << "mount " << mount.source << " " << mount.target
      << (mount.access == policy::Access::kReadWrite ? " rw" : " ro");
  if (mount.executable) out << " exec";
  for (const std::string& suffix : mount.suffixes) out << " " << suffix;
  if (mount.max_file_bytes != 0) out << " max_file_bytes=" << mount.max_file_bytes;
  out << "\n";
}

void PrintLimits(const policy::Limits& limits, std::ostream& out) {
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    const uint64_t value = key.get(limits);
    if (value != 0) out << key.name << " " << value << "\n";
  }
}

std::string ToText(const Policy& policy) {
  const SandboxRequest& request = policy.request;
  std::ostringstream out;
  out << "dialect " << DialectName(policy.dialect) << "\nmode " << NameOf(request.mode)
      << "\nnetwork " << NameOf(request.network) << "\nexecutables "
      << NameOf(request.executables_mode);
  for (const std::string& executable : request.executables) out << " " << executable;
  out << "\n";
  if (!request.workspace.empty()) out << "workspace " << request.workspace << "\n";
  for (const policy::Mount& mount : request.mounts) PrintMount(mount, out);
  for (const auto& [name, value] : request.env) out << "env " << name << "=" << value << "\n";
  PrintLimits(request.limits, out);
  for (const std::string& path : request.protect) out << "protect " << path << "\n";
  if (request.protection == policy::Protection::kNone) out << "protection none\n";
  for (const std::string& pattern : request.deny) out << "deny " << pattern << "\n";
  if (request.landlock == policy::Landlock::kBestEffort) out << "landlock best_effort\n";
  if (request.user != 0) out << "user " << request.user << "\n";
  for (const std::string& path : policy.also_read) out << "also_read " << path << "\n";
  for (const std::string& path : policy.create) out << "create " << path << "\n";
  for (const std::string& line : policy.elsewhere) out << "elsewhere " << line << "\n";
  for (const Approval& approval : policy.approvals) out << "asks " << ToString(approval) << "\n";
  for (const Problem& warning : policy.warnings) out << "warning " << ToString(warning) << "\n";
  return out.str();
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

constexpr char kShop[] = "tests/golden/dialect/llm-do-workshop";

fakes::FakePolicyHost Host() {
  fakes::FakePolicyHost host;
  host.environment = {{"BASE_URL", "http://b"}, {"LANG", "C"}};
  host.files = {{"/home/u/.odek/config.json", R"({"sandbox_memory": "2g"})"},
                {"/home/u/project/shop/workshop.yaml",
                 ReadText(std::string(ODYSSEY_SOURCE_DIR) + "/" + kShop + "/workshop.yaml")}};
  host.links = {{"/srv/linked", "/mnt/real"}, {"/home/u/project/link", "/home/u/project/sub"}};
  host.missing = {"/sandbox"};
  return host;
}

// The checkout is somewhere else for everybody.
std::string Portable(std::string text) {
  const std::string source = ODYSSEY_SOURCE_DIR;
  for (size_t at = text.find(source); at != std::string::npos; at = text.find(source)) {
    text.replace(at, source.size(), "SOURCE");
  }
  return text;
}

// Where the host has a file of the checkout: in the client's directory, the shop as `shop`.
std::string NameOnHost(const std::string& path) {
  const std::string shop = kShop;
  if (path.rfind(shop, 0) == 0) return "shop" + path.substr(shop.size());
  return path.substr(path.rfind('/') + 1);
}

// A file of the checkout; a bundle's directory is read as that.
std::string Read(const std::string& path) {
  const std::string full = std::string(ODYSSEY_SOURCE_DIR) + "/" + path;
  const fakes::FakePolicyHost host = Host();
  Problems problems;
  const std::string text = ReadText(full);
  const std::optional<Policy> policy =
      text.empty() ? ReadBundlePolicy(full, host.Context(), &problems)
                   : ReadPolicy(text, NameOnHost(path), host.Context(), &problems);
  EXPECT_EQ(policy.has_value(), problems.empty());
  return policy ? Portable(ToText(*policy)) : fakes::Lines(problems);
}

struct Golden {
  const char* name;
  const char* path;
};

constexpr Golden kGoldens[] = {
    {"example-odyssey", "examples/policies/odyssey-policy.yaml"},
    {"example-hello", "examples/bundles/hello"},
    {"example-repo-report", "examples/bundles/repo-report"},
    {"example-reviewers", "examples/policies/reviewers"},
    {"example-llm-do", "examples/policies/llm-do-worker.yaml"},
    {"example-odek", "examples/policies/odek.json"},
    {"example-openshell", "examples/policies/openshell-policy.yaml"},
    {"odyssey-full", "tests/golden/dialect/odyssey-full.yaml"},
    {"bundle", "tests/golden/dialect/bundle"},
    {"llm-do-plural", "tests/golden/dialect/llm-do-plural.yaml"},
    {"llm-do-workshop", "tests/golden/dialect/llm-do-workshop/workers/writer.yaml"},
    {"odek-dropped", "tests/golden/dialect/odek-dropped.json"},
    {"openshell-older", "tests/golden/dialect/openshell-older.yaml"},
    {"openshell-protocols", "tests/golden/dialect/openshell-protocols.yaml"},
    {"openshell-bare", "tests/golden/dialect/openshell-bare.yaml"},
};

TEST(DialectGoldenTest, ReadsTheRequestsOnRecord) {
  for (const Golden& golden : kGoldens) {
    const std::string path =
        std::string(ODYSSEY_SOURCE_DIR) + "/tests/golden/dialect/" + golden.name + ".request";
    const std::string text = Read(golden.path);
    EXPECT_EQ(ReadText(path), text) << path;
    if (std::getenv("ODYSSEY_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  }
}

}  // namespace
}  // namespace odyssey::dialect
