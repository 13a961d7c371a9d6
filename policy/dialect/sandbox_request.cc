#include "policy/dialect/sandbox_request.h"

#include <algorithm>

#include "policy/ceiling/ceiling.h"

namespace odyssey::dialect {
namespace {

constexpr char kWorkspace[] = "/workspace";
constexpr char kBundle[] = "/bundle";

policy::Mode ToMode(SandboxMode mode) {
  switch (mode) {
    case SandboxMode::kReadOnly:
      return policy::Mode::kReadOnly;
    case SandboxMode::kWorkspaceWrite:
      return policy::Mode::kWorkspaceWrite;
    case SandboxMode::kDangerFullAccess:
      break;  // asked for; whether it is given is for the operator and the person to say
  }
  return policy::Mode::kDangerFullAccess;
}

bool IsBelow(const std::string& path, const std::string& other) {
  return path != other && (other == "." || path.compare(0, other.size() + 1, other + "/") == 0);
}

std::string Nth(const std::string& name, size_t index) {
  return name + "[" + std::to_string(index) + "]";
}

// What cannot be converted, or not be granted.
struct Refusal {
  Code code = Code::kInvalidArgument;
  Place place;  // without a file where that is not known
  std::string why;
};

// What the conversion makes, piece by piece.
struct Conversion {
  const SandboxSpec& sandbox;
  const RequestContext& context;
  policy::SandboxRequest request;
  Origins origins;
  std::vector<Refusal> refusals;

  // `field` as SandboxSpec's origins know it; `key` for where they do not.
  void Refuse(Code code, const std::string& field, const std::string& key, std::string why) {
    const Place* place = origins.Find(field);
    refusals.push_back({code, place != nullptr ? *place : Place{.key = key}, std::move(why)});
  }

  // `entry` of the request is what `field` says.
  void Note(const std::string& entry, const std::string& field) {
    if (const Place* place = origins.Find(field)) origins.Add(entry, *place);
  }

  void AddMount(policy::Mount mount, const std::string& field) {
    Note(Nth("mounts", request.mounts.size()), field);
    request.mounts.push_back(std::move(mount));
  }

  void AddExecutable(std::string path, const std::string& field) {
    Note(Nth("executables", request.executables.size()), field);
    request.executables.push_back(std::move(path));
  }
};

// The bundle's own programs, from where the agent cannot change them. A private workspace has a
// copy, which it can.
void AddOwnPrograms(Conversion* out) {
  policy::SandboxRequest& request = out->request;
  const std::vector<std::string>& exec = out->sandbox.exec;
  const bool in_place = !request.workspace.empty();
  for (size_t i = 0; i < exec.size(); ++i) {
    const std::string& path = exec[i];
    const std::string field = Nth("exec", i);
    if (out->context.bundle_directory.empty()) {
      out->Refuse(Code::kInvalidArgument, field, "sandbox.permissions.filesystem.exec",
                  "`" + path + "` is a file of a bundle, and there is none");
      continue;
    }
    const bool covered = std::any_of(
        exec.begin(), exec.end(), [&](const std::string& other) { return IsBelow(path, other); });
    const std::string tail = path == "." ? "" : "/" + path;
    const policy::Mount mount = {.source = out->context.bundle_directory + tail,
                                 .target = kBundle + tail,
                                 .executable = true};
    const auto& mounts = request.mounts;
    if (covered || std::find(mounts.begin(), mounts.end(), mount) != mounts.end()) continue;
    out->AddMount(mount, field);
    if (in_place) out->AddExecutable(kWorkspace + tail, field);
  }
}

void AddMounts(const std::vector<std::string>& sources, policy::Access access, Conversion* out) {
  const bool read = access == policy::Access::kReadOnly;
  const std::string side = read ? "read" : access == policy::Access::kReview ? "review" : "write";
  const std::string base = std::string(kWorkspace) + "/mount/" + (read ? "read/" : "write/");
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::string& source = sources[i];
    const std::string field = Nth(side + "_mounts", i);
    if (source != ".") {
      out->AddMount({source, source == "/" ? base + "abs" : base + "abs" + source, access}, field);
    } else if (out->context.client_cwd.empty()) {
      out->Refuse(Code::kInvalidArgument, field, "sandbox.permissions.filesystem.mounts." + side,
                  "`.` is the client's directory, and the client named none");
    } else {
      out->AddMount({out->context.client_cwd, base + "current", access}, field);
    }
  }
}

void AddEnv(Conversion* out) {
  const RequestContext& context = out->context;
  for (const auto& [target, source] : out->sandbox.env) {
    const auto found = context.host_env.find(source);
    if (found == context.host_env.end()) continue;
    if (ceiling::LooksSecret(source) && context.granted_env.count(source) == 0) {
      out->Refuse(Code::kPermissionDenied, "env." + target, "sandbox.env." + target,
                  "the variable " + source + " looks like a secret and needs an operator grant");
      continue;
    }
    out->request.env[target] = found->second;
  }
}

Conversion Convert(const SandboxSpec& sandbox, const RequestContext& context) {
  Conversion out{.sandbox = sandbox, .context = context, .origins = sandbox.origins};
  policy::SandboxRequest& request = out.request;
  request.mode = ToMode(sandbox.mode);
  request.executables_mode = sandbox.system_tools_mode;
  request.executables = sandbox.system_tools;
  if (context.bundle_as_workspace && request.mode == policy::Mode::kReadOnly) {
    request.workspace = context.bundle_directory;
  }
  AddOwnPrograms(&out);
  AddMounts(sandbox.read_mounts, policy::Access::kReadOnly, &out);
  AddMounts(sandbox.review_mounts, policy::Access::kReview, &out);
  AddMounts(sandbox.write_mounts, policy::Access::kReadWrite, &out);
  AddEnv(&out);
  request.network = sandbox.network;
  request.egress = sandbox.egress;
  // Commands on the host have its network or none.
  if (policy::IsDanger(request) && egress::IsPublic(request.egress)) {
    request.network = policy::Network::kFull;
    request.egress = {};
  }
  request.providers = sandbox.providers;
  request.limits = sandbox.limits;
  request.unsaid_limits = sandbox.unsaid_limits;
  request.protect = sandbox.protect;
  request.protection = sandbox.protection;
  request.deny = sandbox.deny;
  request.landlock = sandbox.landlock;
  request.user = sandbox.user;
  request.image = sandbox.image;
  if (sandbox.writes == policy::Writes::kReview) ReviewAllWrites(&request);
  return out;
}

}  // namespace

Result<policy::SandboxRequest> ToRequest(const SandboxSpec& sandbox, const RequestContext& context,
                                         Origins* origins) {
  Conversion made = Convert(sandbox, context);
  if (origins != nullptr) *origins = std::move(made.origins);
  if (made.refusals.empty()) return std::move(made.request);
  const Refusal& first = made.refusals.front();
  const Place& place = first.place;
  if (place.file.empty()) return Status(first.code, place.key + ": " + first.why);
  return Status(
      first.code,
      ToString({.file = place.file, .line = place.line, .key = place.key, .message = first.why}));
}

std::optional<policy::SandboxRequest> ToRequest(const SandboxSpec& sandbox,
                                                const RequestContext& context, const Source& source,
                                                Origins* origins) {
  Conversion made = Convert(sandbox, context);
  *origins = std::move(made.origins);
  for (Refusal& refusal : made.refusals) {
    source.Invalid(refusal.place.line, refusal.place.key, std::move(refusal.why));
  }
  if (!made.refusals.empty()) return std::nullopt;
  return std::move(made.request);
}

}  // namespace odyssey::dialect
