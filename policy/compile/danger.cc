#include "policy/compile/danger.h"

#include "common/base/codec.h"
#include "common/base/refusal.h"
#include "common/base/sha256.h"
#include "policy/compile/environment.h"
#include "policy/compile/limits.h"
#include "policy/model/policy_keys.h"

namespace odyssey::compile {
namespace {

using policy::ExecutablesMode;
using policy::Mode;
using policy::Network;
using policy::SandboxRequest;
using policy::Scope;

// What a request says that promises something, or makes something visible under another name.
struct Bound {
  const char* field;
  std::string value;
};

std::optional<Bound> FirstBound(const SandboxRequest& request) {
  if (!request.mounts.empty()) return Bound{"mounts", request.mounts.front().source};
  if (request.executables_mode == ExecutablesMode::kExplicit && !request.executables.empty()) {
    return Bound{"executables", request.executables.front()};
  }
  if (!request.protect.empty()) return Bound{"protect", request.protect.front()};
  if (!request.deny.empty()) return Bound{"deny", request.deny.front()};
  if (request.workspace_writes == policy::Writes::kReview) return Bound{"writes", "review"};
  if (request.user != 0) return Bound{"user", std::to_string(request.user)};
  if (request.image != policy::ImageRoot{}) return Bound{"image", request.image.reference};
  return std::nullopt;
}

Status CheckAsked(const SandboxRequest& request) {
  if (request.mode != Mode::kDangerFullAccess) {
    return Refused(Code::kInvalidArgument, "mode", "", "not danger_full_access");
  }
  if (request.network != Network::kFull) {
    return Refused(Code::kFailedPrecondition, "network", "",
                   "bundle disables network but host execution cannot enforce that policy; with "
                   "danger_full_access the host's whole network is allowed, in a manifest [\"*\"]");
  }
  const std::optional<Bound> bound = FirstBound(request);
  if (!bound) return OkStatus();
  return Refused(Code::kFailedPrecondition, bound->field, bound->value,
                 "host execution cannot enforce that; with danger_full_access it must be left out");
}

Status CheckUser(const HostUser& user) {
  if (user.uid == 0) {
    return Refused(Code::kPermissionDenied, "owner_uid", "0",
                   "Host uid 0 never runs a command, whatever the flags; danger_full_access runs "
                   "as the user for whom the cell is");
  }
  if (!user.name.empty()) return OkStatus();
  return Refused(Code::kPermissionDenied, "owner_uid", std::to_string(user.uid),
                 "this host has no such user");
}

Result<std::string> StartDirectory(const SandboxRequest& request, const HostUser& user) {
  const std::string& path = request.workspace.empty() ? user.home : request.workspace;
  if (plan::IsNormalizedAbsolute(path) && path != "/") return path;
  return Refused(Code::kInvalidArgument, "workspace", "\"" + path + "\"",
                 std::string("a normalised absolute path other than / is allowed") +
                     (request.workspace.empty() ? "; this one is the user's home" : ""));
}

// As of a login of that user, but for what a shell's own files would add. Not ODYSSEY_SANDBOX:
// there is none.
std::vector<std::string> HostEnvironment(const HostUser& user) {
  return {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
          "HOME=" + user.home,
          "LANG=C.UTF-8",
          "SHELL=/bin/sh",
          "USER=" + user.name,
          "LOGNAME=" + user.name};
}

// The names of limits of file systems that only a cell has.
std::string CellOnlyLimits() {
  std::string names;
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    if (key.scope != Scope::kTmpfs && key.scope != Scope::kDisk) continue;
    names += (names.empty() ? "" : " and ") + std::string(key.name);
  }
  return names;
}

std::vector<std::string> Explain(const HostUser& user, const Compiled& compiled) {
  const policy::Limits& limits = compiled.limits;
  return {
      "MODE DANGER_FULL_ACCESS: NOTHING CONFINES THIS. COMMANDS RUN ON THE HOST AS " + user.name +
          " (uid " + std::to_string(user.uid) + ")",
      "UNCONFINED: no cell, no namespace, no Landlock, no seccomp filter: whatever that user may "
      "read, write, execute, connect to or signal, a command may",
      "as that user's uid and primary group, with no other group, no capability, and no new "
      "privileges: set-uid programs gain nothing",
      "network full: the host's network",
      "in " + compiled.workspace + ": commands start there, and it is the host's own directory",
      "a control group of its own: the end of a command ends whatever it started, and the limits "
      "hold: " +
          DescribeLimits(limits, Scope::kGroup),
      "limits of a command: " + DescribeLimits(limits, Scope::kCommand) + "; " + CellOnlyLimits() +
          " bound nothing here",
  };
}

std::string Digest(const SandboxRequest& request, const HostUser& user, const Compiled& compiled) {
  Writer out;
  out.String("odyssey danger digest 1");
  out.U32(user.uid);
  out.String(compiled.workspace);
  out.String(plan::EncodePlan(compiled.plan));
  AddCommandLimits(compiled.limits, &out);
  out.Strings(compiled.base_env);
  out.Strings(OwnNames(request.env));
  return Sha256Hex(out.bytes());
}

}  // namespace

Result<Compiled> CompileDanger(const SandboxRequest& request, const HostUser& user,
                               const plan::CheckContext& context) {
  ODY_RETURN_IF_ERROR(CheckAsked(request));
  ODY_RETURN_IF_ERROR(CheckUser(user));
  ODY_RETURN_IF_ERROR(CheckEnvironment(request.env));
  Compiled out;
  out.unconfined = true;
  ODY_ASSIGN_OR_RETURN(out.workspace, StartDirectory(request, user));
  ODY_ASSIGN_OR_RETURN(out.limits, EffectiveLimits(request.limits, context));
  out.plan.network = plan::Network::kFull;
  out.plan.memory_bytes = out.limits.memory_bytes;
  out.plan.cpu_millis = out.limits.cpu_millis;
  out.plan.pids = out.limits.pids;
  out.base_env = HostEnvironment(user);
  out.explanation = Explain(user, out);
  out.digest = Digest(request, user, out);
  return out;
}

}  // namespace odyssey::compile
