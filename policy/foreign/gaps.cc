#include "policy/foreign/gaps.h"

#include <algorithm>

#include "policy/compile/protection.h"
#include "policy/model/choice_names.h"
#include "policy/model/default_limits.h"
#include "policy/plan/plan.h"

namespace odyssey::foreign {
namespace {

using policy::SandboxRequest;

class Gaps final {
 public:
  void Add(const Lack& lack, std::string item) {
    if (!lack.why.empty()) found_.push_back({lack.effect, std::move(item), std::string(lack.why)});
  }
  std::vector<Gap> Take() { return std::move(found_); }

 private:
  std::vector<Gap> found_;
};

std::string ProgramsText(const SandboxRequest& request) {
  std::string out = "system_tools_mode ";
  out += policy::ExecutablesName(request.executables_mode);
  if (request.executables_mode != policy::ExecutablesMode::kExplicit) return out;
  for (const std::string& name : request.executables) out += " " + name;
  return out;
}

void AddMounts(const SandboxRequest& request, const Lacks& lacks, Gaps* gaps) {
  bool any_noexec = false;
  for (const policy::Mount& mount : request.mounts) {
    any_noexec = any_noexec || !mount.executable;
    if (mount.source != mount.target) {
      gaps->Add(lacks.places, "mount of " + mount.source + " at " + mount.target);
    }
    if (mount.access == policy::Access::kReview) {
      gaps->Add(lacks.review, "review of writes in " + mount.target);
    }
    for (const std::string& suffix : mount.suffixes) {
      gaps->Add(lacks.files, "suffixes " + suffix + " in " + mount.target);
    }
    if (mount.max_file_bytes > 0) {
      gaps->Add(lacks.files,
                "max_file_bytes " + std::to_string(mount.max_file_bytes) + " in " + mount.target);
    }
  }
  if (any_noexec || !request.workspace.empty()) {
    gaps->Add(lacks.no_exec, "no program in mounts is executed");
  }
}

void AddNetwork(const SandboxRequest& request, const Lacks& lacks, Gaps* gaps) {
  if (request.network == policy::Network::kFull) gaps->Add(lacks.full, "the host's network");
  if (request.network == policy::Network::kEgress) {
    for (const std::string& line : egress::Describe(request.egress)) {
      gaps->Add(lacks.endpoints, line);
    }
    for (const egress::BudgetKey& key : egress::kBudgetKeys) {
      const uint64_t most = request.egress.budget.*key.member;
      if (most > 0) {
        gaps->Add(lacks.endpoints,
                  std::string("network_budget.") + key.name + " " + std::to_string(most));
      }
    }
  }
  for (const std::string& provider : request.providers) {
    gaps->Add(lacks.providers, "providers " + provider);
  }
}

}  // namespace

std::map<std::string_view, Lack> NoLimits(std::string_view why, const Lack& tmp) {
  std::map<std::string_view, Lack> out;
  for (const policy::LimitKey& key : policy::kLimitKeys) out[key.name] = {Effect::kWeaker, why};
  out["tmp_bytes"] = tmp;
  return out;
}

std::vector<Gap> GapsOf(const SandboxRequest& request, const Lacks& lacks) {
  Gaps gaps;
  gaps.Add(lacks.reads, "only what is mounted can be read");
  gaps.Add(lacks.programs, ProgramsText(request));
  if (!request.image.reference.empty()) {
    gaps.Add(lacks.image, "image " + request.image.reference);
  }
  if (request.workspace.empty()) {
    gaps.Add(lacks.workspace, "a workspace of the cell's own");
  } else {
    if (request.workspace != plan::kWorkspacePath) {
      gaps.Add(lacks.places, "workspace " + request.workspace + " at " + plan::kWorkspacePath);
    }
    if (policy::WorkspaceAccess(request) == policy::Access::kReview) {
      gaps.Add(lacks.review, "review of writes in the workspace");
    }
  }
  AddMounts(request, lacks, &gaps);
  for (const std::string& name : request.protect) gaps.Add(lacks.protect, "protect " + name);
  if (request.protection == policy::Protection::kDefault) {
    gaps.Add(lacks.protect, "protection default");
  }
  for (const std::string& pattern : request.deny) gaps.Add(lacks.deny, "deny " + pattern);
  AddNetwork(request, lacks, &gaps);
  for (const auto& [name, value] : request.env) gaps.Add(lacks.variables, "env " + name);
  const uint32_t user = request.user == 0 ? plan::kCellUser : request.user;
  const bool of_image = !request.image.reference.empty();
  gaps.Add(lacks.user, "user " + (of_image ? request.image.user : std::to_string(user)));
  const policy::Limits limits = policy::WithDefaults(request.limits);
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    const auto lack = lacks.limits.find(key.name);
    const uint64_t value = key.get(limits);
    if (lack == lacks.limits.end() || value == 0) continue;
    gaps.Add(lack->second, std::string(key.name) + " " + std::to_string(value));
  }
  gaps.Add(lacks.confinement, "what every cell has");
  return gaps.Take();
}

std::vector<std::string> ProtectedIn(const SandboxRequest& request) {
  std::vector<std::string> out = request.protect;
  if (request.protection == policy::Protection::kDefault) {
    for (const compile::ProtectedName& name : compile::ProjectNames()) out.emplace_back(name.path);
  }
  return out;
}

std::vector<Place> PlacesOf(const SandboxRequest& request) {
  std::vector<Place> out;
  for (const policy::Mount& mount : request.mounts) {
    out.push_back({mount.source, mount.target, mount.access == policy::Access::kReadWrite});
  }
  std::sort(out.begin(), out.end(),
            [](const Place& a, const Place& b) { return a.target < b.target; });
  if (!request.workspace.empty()) {
    const bool writable = policy::WorkspaceAccess(request) == policy::Access::kReadWrite;
    out.insert(out.begin(), {request.workspace, plan::kWorkspacePath, writable});
  }
  return out;
}

std::string ShellWord(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("%+,-./:=@_").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string out = "'";
  for (const char c : text) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

}  // namespace odyssey::foreign
