#include "policy/compile/image_root.h"

#include <algorithm>

#include "common/base/refusal.h"
#include "policy/compile/entries.h"
#include "policy/model/own_variables.h"

namespace odyssey::compile {
namespace {

using policy::ExecutablesMode;

bool WritesToHost(const policy::SandboxRequest& request) {
  if (!request.workspace.empty() && WorkspaceAccess(request) != policy::Access::kReadOnly) {
    return true;
  }
  return std::any_of(request.mounts.begin(), request.mounts.end(), [](const policy::Mount& mount) {
    return mount.access != policy::Access::kReadOnly;
  });
}

std::string NameOf(const std::string& variable) { return variable.substr(0, variable.find('=')); }

// Its programs, where not everything may be executed: read-only, so that none is added to them.
// What is a link in the image leads to one of these, or nowhere that may be executed. In explicit
// mode AddExecutables adds to these what may be executed.
void AddPrograms(bool executable, Compiled* out) {
  for (const std::string& tree : plan::SystemTrees()) {
    out->plan.entries.push_back(
        {.kind = plan::EntryKind::kPart, .target = tree, .executable = executable});
    if (!executable) continue;
    out->confinement.rules.push_back({tree, cell::kRead | cell::kExecute | cell::kIfThere});
  }
}

}  // namespace

Status CheckImage(const policy::SandboxRequest& request, const Enforcement& enforcement) {
  const policy::ImageRoot& image = request.image;
  if (image.reference.empty()) {
    if (image == policy::ImageRoot{}) return OkStatus();
    return Refused(Code::kInvalidArgument, "image.reference", "",
                   "the name or the digest of an image is allowed");
  }
  if (enforcement.rootless_uid != 0) {
    return Refused(Code::kFailedPrecondition, "image", image.reference,
                   "an image has users of its own, for which the supervisor needs root");
  }
  if (request.user != 0) {
    return Refused(Code::kInvalidArgument, "user", std::to_string(request.user),
                   "with an image image.user is allowed");
  }
  if (!image.build) return OkStatus();
  if (WritesToHost(request)) {
    return Refused(Code::kInvalidArgument, "image.build", "true",
                   "only with host directories that are read-only: the cell can make files that "
                   "are set-uid");
  }
  if (request.network == policy::Network::kFull) {
    return Refused(Code::kInvalidArgument, "image.build", "true",
                   "only with network none or egress is allowed");
  }
  if (request.executables_mode == ExecutablesMode::kAll) return OkStatus();
  return Refused(Code::kInvalidArgument, "image.build", "true",
                 "only with executables_mode all is allowed: programs are made");
}

void AddImage(const policy::SandboxRequest& request, const FoundImage& image,
              const HostFacts& facts, Compiled* out) {
  const bool all = request.executables_mode == ExecutablesMode::kAll;
  out->plan.ids = plan::Ids::kRange;
  out->plan.user = image.user;
  out->plan.group = image.group;
  out->plan.build = request.image.build;
  out->confinement.build = out->plan.build;
  out->plan.layers = image.layers;
  out->plan.root_executable = all;
  out->confinement.rules.push_back({"/", cell::kRead | cell::kWrite});
  AddOwnConfiguration(request, facts, out);
  if (!all) AddPrograms(request.executables_mode != ExecutablesMode::kExplicit, out);
  out->explanation.push_back("image " + request.image.reference + ", " + image.digest +
                             ": the root, " + std::to_string(image.layers.size()) +
                             " layers; what is written to it stays with the cell");
  out->explanation.push_back("user " + std::to_string(image.user) + ":" +
                             std::to_string(image.group) + " of the image, no user of the host" +
                             (out->plan.build
                                  ? ", with the capabilities of package managers in the "
                                    "cell's user namespace"
                                  : ", without a capability"));
}

std::vector<std::string> ImageEnvironment(const std::vector<std::string>& base,
                                          const FoundImage& image) {
  std::vector<std::string> env;
  const auto has = [&](const std::string& name) {
    return std::any_of(image.env.begin(), image.env.end(),
                       [&](const std::string& variable) { return NameOf(variable) == name; });
  };
  for (const std::string& variable : base) {
    const std::string name = NameOf(variable);
    const bool own = policy::IsOwnVariable(name);
    if (name != "USER" && name != "LOGNAME" && (own || !has(name))) env.push_back(variable);
  }
  for (const std::string& variable : image.env) {
    if (!policy::IsOwnVariable(NameOf(variable))) env.push_back(variable);
  }
  return env;
}

}  // namespace odyssey::compile
