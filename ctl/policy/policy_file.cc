#include "ctl/policy/policy_file.h"

#include <errno.h>
#include <fcntl.h>

#include <filesystem>
#include <utility>

#include "ctl/base/sanitize.h"
#include "policy/model/own_variables.h"

namespace odyssey::ctl {
namespace {

constexpr const char* kManifestNames[] = {"odyssey.bundle.json5", "odyssey.bundle.yaml",
                                          "odyssey.bundle.yml"};
constexpr const char* kAgentNames[] = {"agent.yaml", "agent.yml"};

dialect::PathFacts FactsOf(const Walk& walk, const std::string& path) {
  dialect::PathFacts facts;
  facts.exists = walk.place || !walk.planted_link.empty();
  facts.is_link = walk.last_is_link;
  facts.resolved = walk.name.empty() ? path : walk.name;  // the supervisor says what is wrong
  facts.planted_link = walk.planted_link;
  if (walk.place) facts.identity = walk.place->identity();
  return facts;
}

}  // namespace

dialect::PolicyContext MakePolicyContext(const std::string& client_cwd,
                                         const Environment& environment,
                                         std::shared_ptr<NamedPlaces> places) {
  if (!places) places = std::make_shared<NamedPlaces>();
  dialect::PolicyContext context;
  context.client_cwd = client_cwd;
  context.home = environment("HOME").value_or("");
  context.environment = environment;
  context.look = [places](const std::string& path) { return FactsOf(places->Look(path), path); };
  context.read = [places](const std::string& path) {
    return places->Read(path, Links::kFileItself, dialect::kMaxPolicyBytes);
  };
  context.open = OpenBundleDirectory;
  return context;
}

Result<UniqueFd> OpenBundleDirectory(const std::string& directory) {
  ODY_ASSIGN_OR_RETURN(const NamedPlace place, OpenNamedPlace(directory, Links::kBelow));
  UniqueFd fd(fcntl(place.fd(), F_DUPFD_CLOEXEC, 0));
  if (!fd) return ErrnoStatus(errno, "open " + directory);
  return fd;
}

Result<dialect::Policy> ReadPolicy(const std::string& path, const dialect::PolicyContext& context,
                                   dialect::Problems* problems, std::string* name) {
  NamedPlaces places;
  const Walk& file = places.Look(path, Links::kFileItself);
  std::optional<dialect::Policy> policy;
  if (file.place && file.place->is_directory()) {
    ODY_RETURN_IF_ERROR(places.Look(path, Links::kBelow).status);
    policy = dialect::ReadBundlePolicy(path, context, problems);
  } else {
    ODY_ASSIGN_OR_RETURN(const std::string text,
                         places.Read(path, Links::kFileItself, dialect::kMaxPolicyBytes));
    policy = dialect::ReadPolicy(text, path, context, problems);
  }
  if (!policy) return dialect::ToStatus(*problems);
  if (name != nullptr && file.place) *name = file.place->name();
  return *std::move(policy);
}

std::optional<dialect::AgentSpec> ReadAgentAlone(const std::string& path,
                                                 dialect::Problems* problems) {
  const std::string extension = std::filesystem::path(path).extension();
  if (extension != ".yaml" && extension != ".yml") return std::nullopt;
  const Result<std::string> text =
      NamedPlaces().Read(path, Links::kFileItself, dialect::kMaxFileBytes);
  if (!text.ok()) return std::nullopt;
  return dialect::ReadAgentAlone(*text, path, OpenBundleDirectory, problems);
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
  ODY_ASSIGN_OR_RETURN(const NamedPlace place, OpenNamedPlace(path, Links::kFileItself));
  if (place.is_directory()) return path;
  const std::filesystem::path file(path);
  for (const char* name : kManifestNames) {
    if (file.filename() != name) continue;
    const std::string directory = file.parent_path().string();
    return directory.empty() ? std::string(".") : directory;
  }
  for (const char* name : kAgentNames) {
    if (file.filename() != name) continue;
    if (std::optional<std::string> bundle = dialect::BundleOf(path, OpenBundleDirectory))
      return *std::move(bundle);
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
