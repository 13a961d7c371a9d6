#include "ctl/policy_file.h"

#include <errno.h>
#include <sys/stat.h>

#include <filesystem>

#include "common/os/regular_file.h"
#include "ctl/planted_link.h"
#include "ctl/sanitize.h"
#include "policy/model/own_variables.h"

namespace odyssey::ctl {
namespace {

constexpr const char* kManifestNames[] = {"odyssey.bundle.json5", "odyssey.bundle.yaml",
                                          "odyssey.bundle.yml"};
constexpr const char* kAgentNames[] = {"agent.yaml", "agent.yml"};

dialect::PathFacts LookAt(const std::string& path) {
  struct stat info;
  WalkedPath walked = WalkAlong(path);
  dialect::PathFacts facts;
  facts.exists = walked.exists;
  facts.is_link = lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
  facts.planted_link = std::move(walked.planted);
  facts.resolved = std::move(walked.path);  // the supervisor says what is wrong with it
  return facts;
}

Result<bool> IsDirectory(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "open " + path);
  return S_ISDIR(info.st_mode);
}

}  // namespace

dialect::PolicyContext MakePolicyContext(const std::string& client_cwd,
                                         const Environment& environment) {
  dialect::PolicyContext context;
  context.client_cwd = client_cwd;
  context.home = environment("HOME").value_or("");
  context.environment = environment;
  context.look = LookAt;
  context.read = [](const std::string& path) {
    return ReadRegularFile(path, dialect::kMaxPolicyBytes);
  };
  return context;
}

Result<dialect::Policy> ReadPolicy(const std::string& path, const dialect::PolicyContext& context,
                                   dialect::Problems* problems) {
  ODY_ASSIGN_OR_RETURN(const bool directory, IsDirectory(path));
  std::optional<dialect::Policy> policy;
  if (directory) {
    policy = dialect::ReadBundlePolicy(path, context, problems);
  } else {
    ODY_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(path, dialect::kMaxPolicyBytes));
    policy = dialect::ReadPolicy(text, path, context, problems);
  }
  if (policy) return *std::move(policy);
  return dialect::ToStatus(*problems);
}

void PrintWarnings(const Console& console, const dialect::Problems& warnings) {
  for (const dialect::Problem& warning : warnings) {
    console.Warn("odyssey-ctl: warning: " + Sanitize(dialect::ToString(warning), Lines::kOne));
  }
}

Json WarningsAsJson(const dialect::Problems& warnings) {
  Json out = Json::array();
  for (const dialect::Problem& warning : warnings) out.push_back(dialect::ToString(warning));
  return out;
}

Result<std::string> BundleDirectory(const std::string& path) {
  ODY_ASSIGN_OR_RETURN(const bool is_directory, IsDirectory(path));
  if (is_directory) return path;
  const std::filesystem::path file(path);
  for (const char* name : kManifestNames) {
    if (file.filename() != name) continue;
    const std::string directory = file.parent_path().string();
    return directory.empty() ? std::string(".") : directory;
  }
  for (const char* name : kAgentNames) {
    if (file.filename() != name) continue;
    if (std::optional<std::string> bundle = dialect::BundleOf(path)) return *std::move(bundle);
  }
  return InvalidArgument(path + ": expected a bundle directory, or its odyssey.bundle.json5, " +
                         "odyssey.bundle.yaml or agent.yaml");
}

std::map<std::string, std::string> ReadHostEnvironment(const dialect::SandboxSpec& sandbox,
                                                       const Environment& environment) {
  std::map<std::string, std::string> out;
  for (const auto& [target, source] : sandbox.env) {
    if (const std::optional<std::string> value = environment(source)) out[source] = *value;
  }
  policy::InheritVariables(environment, &out);
  return out;
}

}  // namespace odyssey::ctl
