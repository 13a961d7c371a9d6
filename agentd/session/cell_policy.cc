#include "agentd/session/cell_policy.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "agentd/session/granted_cell.h"
#include "agentd/session/limits_in_force.h"
#include "agentd/session/widen.h"
#include "common/base/utf8.h"
#include "policy/ceiling/check.h"
#include "policy/destination/destination_check.h"
#include "policy/dialect/ceiling_directory.h"
#include "policy/model/choice_names.h"
#include "policy/model/default_limits.h"
#include "policy/model/mode_name.h"
#include "policy/model/policy_keys.h"
#include "policy/model/tool_table.h"

namespace odyssey::session {
namespace {

using policy::SandboxRequest;

constexpr char kDefault[] = "default";
constexpr char kCeiling[] = "the operator's ceiling";
constexpr char kBundle[] = "the bundle";

struct Field {
  std::string name, value;
};

std::string Nth(std::string_view name, size_t index) {
  return std::string(name) + "[" + std::to_string(index) + "]";
}

std::string AccessText(policy::Access access) {
  switch (access) {
    case policy::Access::kReadOnly:
      return "read-only";
    case policy::Access::kReview:
      return "written on a copy, for a commit";
    case policy::Access::kReadWrite:
      break;
  }
  return "writable";
}

std::string MountText(const policy::Mount& mount) {
  return mount.source + " at " + mount.target + ", " + AccessText(mount.access) +
         (mount.executable ? ", executable" : "");
}

void AddList(const std::string& name, const std::vector<std::string>& texts,
             std::vector<Field>* out) {
  for (size_t i = 0; i < texts.size(); ++i) out->push_back({Nth(name, i), texts[i]});
}

void AddLimits(const policy::Limits& limits, std::vector<Field>* out) {
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    const uint64_t value = key.get(limits);
    const std::string unit = value == 0 ? "" : " " + std::string(key.member.unit);
    out->push_back({"limits." + std::string(key.name), policy::ValueText(key, value) + unit});
  }
}

// In the order in which a person asks: what is seen, run, reached, used.
std::vector<Field> FieldsOf(const SandboxRequest& request) {
  std::vector<Field> out;
  out.push_back({"mode", policy::ModeName(request.mode)});
  out.push_back({"workspace", request.workspace.empty() ? "private" : request.workspace});
  for (size_t i = 0; i < request.mounts.size(); ++i) {
    out.push_back({Nth("mounts", i), MountText(request.mounts[i])});
  }
  AddList("protect", request.protect, &out);
  const bool protects = request.protection == policy::Protection::kDefault;
  out.push_back({"protection", protects ? "default" : "none"});
  AddList("deny", request.deny, &out);
  out.push_back({"executables_mode", policy::ExecutablesName(request.executables_mode)});
  AddList("executables", request.executables, &out);
  out.push_back({"network", policy::NetworkName(request.network)});
  for (size_t i = 0; i < request.egress.rules.size(); ++i) {
    out.push_back({Nth("endpoints", i), request.egress.rules[i].key});
  }
  AddList("providers", request.providers, &out);
  AddLimits(request.limits, &out);
  for (const auto& [name, value] : request.env) out.push_back({"env." + name, ""});
  const bool hard = request.landlock == policy::Landlock::kHardRequirement;
  out.push_back({"landlock", hard ? "hard_requirement" : "best_effort"});
  return out;
}

// Where the values of a request are from, as one step after the other changes them.
class Sources final {
 public:
  // What differs from the request before, or was not there, is from `source`.
  void Changed(const SandboxRequest& request, const std::string& source) {
    std::map<std::string, std::string> now;
    for (const Field& field : FieldsOf(request)) {
      const auto before = values_.find(field.name);
      if (before == values_.end() || before->second != field.value) from_[field.name] = source;
      now[field.name] = field.value;
    }
    values_ = std::move(now);
  }
  void Set(const std::string& field, std::string source) { from_[field] = std::move(source); }
  const std::string& Of(const std::string& field) { return from_[field]; }

 private:
  std::map<std::string, std::string> values_, from_;
};

std::string PlaceText(const dialect::Place& place) {
  const std::string line = place.line == 0 ? "" : ":" + std::to_string(place.line);
  return place.file + line + ": " + place.key;
}

// A list that is written as a whole has one place.
const dialect::Place* FindPlace(const dialect::Origins& origins, const std::string& field) {
  const std::string written = field.rfind("endpoints[", 0) == 0 ? "network" : field;
  const dialect::Place* place = origins.Find(written);
  return place != nullptr ? place : origins.Find(written.substr(0, written.find('[')));
}

// Of the bundle's request, before anything else has changed it.
std::string SourceInBundle(const TurnSetup& setup, const Field& field, const std::string& unasked) {
  if (const dialect::Place* place = FindPlace(setup.origins, field.name)) return PlaceText(*place);
  if (field.name.rfind("env.", 0) == 0) return "the client's environment";
  if (field.name == "workspace" && field.value == "private") return "the session";
  return field.value == unasked ? kDefault : kBundle;
}

Sources SourcesInBundle(const SessionRecord& record, const TurnSetup& setup) {
  const SandboxRequest& request = setup.cell.request;
  std::map<std::string, std::string> unasked;
  for (Field& field : FieldsOf(SandboxRequest())) unasked[field.name] = std::move(field.value);
  Sources out;
  out.Changed(request, kBundle);
  for (const Field& field : FieldsOf(request)) {
    out.Set(field.name, SourceInBundle(setup, field, unasked[field.name]));
  }
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    const bool filled_in = key.get(request.limits) != 0 && !policy::AsksFor(request, key);
    if (filled_in) out.Set("limits." + std::string(key.name), "default of a sandbox file");
  }
  // The places are those of the bundle's own request, whose mounts were others.
  if (setup.within) {
    for (size_t i = 0; i < request.mounts.size(); ++i) {
      out.Set(Nth("mounts", i), "the bundle, within session " + record.parent.session_id);
    }
  }
  if (!record.review) return out;
  for (size_t i = 0; i < request.mounts.size(); ++i) {
    if (request.mounts[i].access != policy::Access::kReview) continue;
    out.Set(Nth("mounts", i), out.Of(Nth("mounts", i)) + "; review asked for by the session");
  }
  return out;
}

// A command that cannot be read is refused wherever it is tried.
rules::Decision DecideUnder(const rules::ToolRules& rules, const rules::ToolCall& call) {
  Result<rules::Decision> decision = rules::Decide(rules, call);
  if (decision.ok()) return *std::move(decision);
  return {.verdict = rules::Verdict::kDeny, .rule = "", .reason = decision.status().message()};
}

}  // namespace

Result<CellPolicy> DescribePolicy(const SessionRecord& record, const TurnSetup& setup,
                                  const std::vector<SessionGrant>& granted,
                                  const Runtime& runtime) {
  CellPolicy out;
  ODY_ASSIGN_OR_RETURN(out.setup, WithGrants(setup, granted, runtime));

  Sources sources = SourcesInBundle(record, setup);
  SandboxRequest request = setup.cell.request;
  request.limits.wall_clock_ms = setup.wall_clock_ms;
  sources.Changed(request, kDefault);
  ODY_ASSIGN_OR_RETURN(const auto current, runtime.ceiling->Get());
  request.limits.wall_clock_ms =
      ceiling::WallClockWithin(current->ceiling, request.limits.wall_clock_ms);
  ceiling::FillLimits(current->ceiling, request.ephemeral, &request.limits);
  sources.Changed(request, kCeiling);
  request.limits = policy::WithDefaults(request.limits);
  sources.Changed(request, kDefault);
  for (const SessionGrant& grant : granted) {
    request = Widen(std::move(request), grant.grants);
    sources.Changed(request, "approval " + grant.id);
  }

  out.limits = request.limits;
  for (const Field& field : FieldsOf(request)) {
    agent::v1::PolicyValue& value = out.values.emplace_back();
    value.set_field(SanitizeUtf8(field.name));
    value.set_value(SanitizeUtf8(field.value));
    value.set_source(SanitizeUtf8(sources.Of(field.name)));
  }
  return out;
}

rules::Decision DecideDestination(const TurnSetup& setup, const egress::Destination& to) {
  const egress::NetworkPolicy& endpoints = setup.cell.request.egress;
  return destination::DecideByNetworkRules(
      setup.rules, endpoints, to, destination::DecideByEndpoints(endpoints, setup.origins, to));
}

rules::Decision DecideCommand(const TurnSetup& setup, const std::string& command) {
  const rules::ToolCall call = {.name = policy::kBash, .command = command, .paths = {}, .cwd = ""};
  rules::Decision out = DecideUnder(setup.rules, call);
  for (const rules::ToolRules& bound : setup.bounds) {
    rules::Decision of_caller = DecideUnder(bound, call);
    if (out.verdict < of_caller.verdict) out = std::move(of_caller);
  }
  return out;
}

}  // namespace odyssey::session
