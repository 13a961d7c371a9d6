#include "policy/ceiling/check.h"

#include <algorithm>
#include <functional>

#include "common/base/refusal.h"
#include "policy/ceiling/path_pattern.h"
#include "policy/model/own_variables.h"
#include "policy/model/policy_keys.h"
#include "policy/pattern/name_pattern.h"

namespace odyssey::ceiling {
namespace {

using policy::SandboxRequest;

// The socket directory of hosts where /var/run is no link to /run.
constexpr std::string_view kNever = "/var/run";
constexpr size_t kMostNamed = 6;  // places or names that a refusal lists

using Items = std::vector<Entry> Grant::*;

std::string ToString(const Owner& owner) {
  return "uid " + std::to_string(owner.uid) + (owner.name.empty() ? "" : " (" + owner.name + ")");
}

// The grants of one person.
std::vector<const Grant*> GrantsOf(const Ceiling& ceiling, const Owner& owner) {
  std::vector<const Grant*> grants;
  for (const Grant& grant : ceiling.grants) {
    if (std::any_of(grant.users.begin(), grant.users.end(),
                    [&](const std::string& rule) { return NamesOwner(rule, owner); })) {
      grants.push_back(&grant);
    }
  }
  return grants;
}

const Entry* FindEntry(const std::vector<const Grant*>& grants, Items items,
                       const std::function<bool(const std::string&)>& fits) {
  for (const Grant* grant : grants) {
    for (const Entry& entry : grant->*items) {
      if (fits(entry.text)) return &entry;
    }
  }
  return nullptr;
}

// "/srv (FILE:3), /home/*/data (FILE:4) and 2 more", or "nothing".
std::string List(const std::vector<const Grant*>& grants, const std::vector<Items>& lists) {
  std::string text;
  size_t count = 0;
  for (const Grant* grant : grants) {
    for (const Items items : lists) {
      for (const Entry& entry : grant->*items) {
        if (++count > kMostNamed) continue;
        text += (text.empty() ? "" : ", ") + entry.text + " (" + ToString(entry.origin) + ")";
      }
    }
  }
  if (count > kMostNamed) text += " and " + std::to_string(count - kMostNamed) + " more";
  return text.empty() ? "nothing" : text;
}

// The lists of a grant that give this access, the one that gives most first.
std::vector<Items> GrantsFor(policy::Access access) {
  std::vector<Items> lists = {&Grant::write};
  if (access != policy::Access::kReadWrite) lists.push_back(&Grant::review);
  if (access == policy::Access::kReadOnly) lists.push_back(&Grant::read);
  return lists;
}

const char* NameOf(policy::Access access) {
  return access == policy::Access::kReadOnly ? "reading"
         : access == policy::Access::kReview ? "writing for review"
                                             : "writing";
}

Status Refuse(const std::string& key, const std::string& value, const std::string& why) {
  return WithHint(kHintCeiling, Refused(Code::kPermissionDenied, key, value, why));
}

// One judgement: the grants of the asker, and the rulings so far.
class Judgement final {
 public:
  Judgement(const Ceiling& ceiling, const Asker& asker)
      : ceiling_(ceiling), asker_(asker), grants_(GrantsOf(ceiling, asker.owner)) {}

  Status Path(const std::string& key, const std::string& path, policy::Access access) {
    const bool write = access != policy::Access::kReadOnly;
    if (!plan::IsNormalizedAbsolute(path)) {
      return Refused(Code::kInvalidArgument, key, path, "a normalised absolute path is allowed");
    }
    ODY_RETURN_IF_ERROR(CheckNever(key, path, write));
    if (!write && IsBundle(path)) return OkStatus();
    for (const Entry& entry : ceiling_.forbidden) {
      const Place place = Compare(path, entry.text, asker_.owner.home);
      if (place == Place::kApart) continue;
      return Refuse(key, path,
                    std::string(place == Place::kWithin ? "" : "it holds what is ") +
                        "forbidden by " + ToString(entry.origin) + " (" + entry.text +
                        "); a directory apart from that is allowed");
    }
    const auto fits = [&](const std::string& pattern) {
      return Compare(path, pattern, asker_.owner.home) == Place::kWithin;
    };
    const Entry* entry = nullptr;
    for (const Items items : GrantsFor(access)) {
      if (entry == nullptr) entry = FindEntry(grants_, items, fits);
    }
    if (entry == nullptr) return RefusePath(key, path, access, fits);
    ODY_RETURN_IF_ERROR(GrantedBy(key, path, entry->origin));
    rulings_.back().own_only = asker_.owner.uid != 0 && !IsGrantedOutright(path, access);
    return OkStatus();
  }

  Status Env(const std::string& key, const std::string& name) {
    const bool secret = LooksSecret(name);
    const Entry* entry = FindEntry(grants_, &Grant::env, [&](const std::string& pattern) {
      return secret ? pattern == name : pattern::NameMatches(name, pattern);
    });
    if (entry != nullptr) return GrantedBy(key, name, entry->origin);
    const std::string who = ToString(asker_.owner);
    if (secret) {
      return Refuse(key, name,
                    "it looks like a secret, and no grant of the operator's ceiling to " + who +
                        " names it; a name without a * in an env list grants it");
    }
    return Refuse(key, name,
                  "not granted by the operator's ceiling to " + who +
                      "; granted: " + List(grants_, {&Grant::env}));
  }

  Status Choose(const std::string& key, const std::string& value, Choice choice,
                const std::string& allowed) {
    for (const Grant* grant : grants_) {
      const std::optional<Origin>& origin = grant->choices[static_cast<size_t>(choice)];
      if (origin) return GrantedBy(key, value, *origin);
    }
    return Refuse(key, value,
                  "not granted by the operator's ceiling to " + ToString(asker_.owner) + "; " +
                      allowed + " is allowed");
  }

  const Owner& owner() const { return asker_.owner; }
  std::vector<Ruling> Take() { return std::move(rulings_); }

 private:
  Status GrantedBy(const std::string& key, const std::string& value, const Origin& origin) {
    rulings_.push_back({key, value, origin});
    return OkStatus();
  }

  // By a grant that names this person, or a group of his, and the place itself.
  bool IsGrantedOutright(const std::string& path, policy::Access access) const {
    const auto outright = [&](const Entry& entry) {
      return entry.text != "/" && entry.text.find_first_of("*?~") == std::string::npos &&
             plan::IsWithin(path, entry.text);
    };
    for (const Grant* grant : grants_) {
      const auto names = [&](const std::string& rule) {
        return rule != "*" && NamesOwner(rule, asker_.owner);
      };
      if (std::none_of(grant->users.begin(), grant->users.end(), names)) continue;
      for (const Items items : GrantsFor(access)) {
        const std::vector<Entry>& entries = grant->*items;
        if (std::any_of(entries.begin(), entries.end(), outright)) return true;
      }
    }
    return false;
  }

  // What no file can grant.
  Status CheckNever(const std::string& key, const std::string& path, bool write) const {
    if (Compare(path, kNever, "") != Place::kApart && path != "/" && path != "/var") {
      return Refuse(key, path, "nothing of /var/run may be shown, whatever is granted");
    }
    const Status status = plan::CheckHostSource(
        path, write ? plan::Access::kReadWrite : plan::Access::kReadOnly, asker_.host);
    return status.ok() ? status : OfField(key, status, path);
  }

  // agentd's own copy of a bundle, which a read-only session works in.
  bool IsBundle(const std::string& path) const {
    const std::string& store = asker_.host.bundle_store;
    return !store.empty() && path != store && plan::IsWithin(path, store);
  }

  Status RefusePath(const std::string& key, const std::string& path, policy::Access access,
                    const std::function<bool(const std::string&)>& fits) const {
    std::vector<Items> lists = GrantsFor(access);
    std::reverse(lists.begin(), lists.end());
    std::string why = std::string(NameOf(access)) +
                      " it is not granted by the operator's ceiling to " + ToString(asker_.owner) +
                      "; granted: " + List(grants_, lists);
    // The most that is granted there instead.
    const Entry* review = FindEntry(grants_, &Grant::review, fits);
    const Entry* read = FindEntry(grants_, &Grant::read, fits);
    if (review != nullptr) {
      why += "; writing it with `writes: review` is, by " + ToString(review->origin);
    } else if (read != nullptr) {
      why += "; reading it is, by " + ToString(read->origin);
    }
    return Refuse(key, path, why);
  }

  const Ceiling& ceiling_;
  const Asker& asker_;
  const std::vector<const Grant*> grants_;
  std::vector<Ruling> rulings_;
};

Status JudgeMode(const SandboxRequest& request, Judgement* judgement) {
  if (request.mode != policy::Mode::kDangerFullAccess) return OkStatus();
  const std::string key = "mode", value = "danger_full_access";
  if (judgement->owner().uid == 0) {
    return Refuse(key, value, "never for uid 0; read_only and workspace_write are allowed");
  }
  return judgement->Choose(key, value, Choice::kDangerFullAccess, "read_only or workspace_write");
}

// A grant of all executables includes those of the workspace.
Status JudgeWorkspacePrograms(Judgement* judgement) {
  const std::string key = "executables_mode", value = "workspace", less = "explicit or standard";
  const Status all = judgement->Choose(key, value, Choice::kAllExecutables, less);
  return all.ok() ? all : judgement->Choose(key, value, Choice::kWorkspaceExecutables, less);
}

// Keys with a few values; the default values need no grant.
Status JudgeChoices(const SandboxRequest& request, Judgement* judgement) {
  ODY_RETURN_IF_ERROR(JudgeMode(request, judgement));
  if (request.network == policy::Network::kFull) {
    ODY_RETURN_IF_ERROR(judgement->Choose("network", "full", Choice::kNetworkFull, "none"));
  }
  if (request.network == policy::Network::kEgress) {
    ODY_RETURN_IF_ERROR(judgement->Choose("network", "egress", Choice::kNetworkEgress, "none"));
  }
  if (request.executables_mode == policy::ExecutablesMode::kAll) {
    ODY_RETURN_IF_ERROR(judgement->Choose("executables_mode", "all", Choice::kAllExecutables,
                                          "explicit or standard"));
  }
  if (request.executables_mode == policy::ExecutablesMode::kWorkspace) {
    ODY_RETURN_IF_ERROR(JudgeWorkspacePrograms(judgement));
  }
  if (request.landlock == policy::Landlock::kBestEffort) {
    ODY_RETURN_IF_ERROR(judgement->Choose("landlock", "best_effort", Choice::kLandlockBestEffort,
                                          "hard_requirement"));
  }
  if (request.protection == policy::Protection::kNone) {
    ODY_RETURN_IF_ERROR(
        judgement->Choose("protection", "none", Choice::kProtectionNone, "default"));
  }
  return OkStatus();
}

// A host file that is made visible to be executed, and none of the system's, is a place like a
// mount's source. In the workspace the path is the cell's.
bool ShowsHostFile(const std::string& executable) {
  if (executable.find('/') == std::string::npos) return false;
  if (plan::IsWithin(executable, plan::kWorkspacePath)) return false;
  const std::vector<std::string>& system = plan::SystemTrees();
  return std::none_of(system.begin(), system.end(),
                      [&](const std::string& tree) { return plan::IsWithin(executable, tree); });
}

Status JudgePaths(const SandboxRequest& request, Judgement* judgement) {
  if (!request.workspace.empty()) {
    ODY_RETURN_IF_ERROR(
        judgement->Path("workspace", request.workspace, policy::WorkspaceAccess(request)));
  }
  for (size_t i = 0; i < request.mounts.size(); ++i) {
    const policy::Mount& mount = request.mounts[i];
    ODY_RETURN_IF_ERROR(
        judgement->Path("mounts[" + std::to_string(i) + "].source", mount.source, mount.access));
  }
  for (size_t i = 0; i < request.executables.size(); ++i) {
    if (!ShowsHostFile(request.executables[i])) continue;
    ODY_RETURN_IF_ERROR(judgement->Path("executables[" + std::to_string(i) + "]",
                                        request.executables[i], policy::Access::kReadOnly));
  }
  return OkStatus();
}

}  // namespace

Result<std::vector<Ruling>> Judge(const Ceiling& ceiling, const SandboxRequest& request,
                                  const Asker& asker) {
  Judgement judgement(ceiling, asker);
  ODY_RETURN_IF_ERROR(JudgeChoices(request, &judgement));
  ODY_RETURN_IF_ERROR(JudgePaths(request, &judgement));
  for (const auto& [name, value] : request.env) {
    if (policy::IsInheritedVariable(name)) continue;
    ODY_RETURN_IF_ERROR(judgement.Env("env", name));
  }
  ODY_RETURN_IF_ERROR(CheckLimits(ceiling, "limits.", request.limits));
  return judgement.Take();
}

Status Check(const Ceiling& ceiling, const SandboxRequest& request, const Asker& asker) {
  return Judge(ceiling, request, asker).status();
}

Result<Ruling> JudgeEnv(const Ceiling& ceiling, const std::string& key, const std::string& name,
                        const Owner& owner) {
  const Asker asker = {owner, {}};
  Judgement judgement(ceiling, asker);
  ODY_RETURN_IF_ERROR(judgement.Env(key, name));
  return judgement.Take().front();
}

Result<std::set<std::string>> GrantedSources(const Ceiling& ceiling, const Owner& owner,
                                             const std::map<std::string, std::string>& env,
                                             const std::map<std::string, std::string>& host) {
  std::set<std::string> granted;
  for (const auto& [target, source] : env) {
    if (host.count(source) == 0) continue;
    ODY_RETURN_IF_ERROR(JudgeEnv(ceiling, "env." + target, source, owner).status());
    granted.insert(source);
  }
  return granted;
}

Status CheckLimits(const Ceiling& ceiling, const std::string& prefix,
                   const policy::Limits& limits) {
  for (size_t i = 0; i < policy::kLimitCount; ++i) {
    const policy::LimitKey& key = policy::kLimitKeys[i];
    const Bound& bound = ceiling.most[i];
    const uint64_t value = key.get(limits);
    if (value == 0 || Narrower(key, value, bound.value) == value) continue;
    return Refuse(
        prefix + std::string(key.name), std::to_string(value),
        "at most " + std::to_string(bound.value) + " is allowed by " + ToString(bound.origin));
  }
  return OkStatus();
}

uint32_t WallClockWithin(const Ceiling& ceiling, uint32_t wanted) {
  const uint64_t most = ceiling.most[policy::LimitIndex("wall_clock_ms")].value;
  return most == 0 ? wanted : static_cast<uint32_t>(std::min<uint64_t>(most, wanted));
}

void FillLimits(const Ceiling& ceiling, bool ephemeral, policy::Limits* limits) {
  for (size_t i = 0; i < policy::kLimitCount; ++i) {
    const policy::LimitKey& key = policy::kLimitKeys[i];
    if (key.get(*limits) != 0 || (ephemeral && key.scope == policy::Scope::kDisk)) continue;
    const uint64_t unset = ceiling.unset[i].value != 0 ? ceiling.unset[i].value : key.fallback;
    // What no default bounds, the ceiling does.
    const uint64_t value = Narrower(key, unset, ceiling.most[i].value);
    if (value != key.fallback) key.set(limits, value);
  }
}

}  // namespace odyssey::ceiling
