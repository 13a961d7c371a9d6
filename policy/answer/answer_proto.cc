#include "policy/answer/answer_proto.h"

#include <utility>

#include "common/base/utf8.h"
#include "policy/convert/refusal_proto.h"
#include "policy/convert/sandbox_proto.h"

namespace odyssey::answer {
namespace {

namespace pb = supervisor::v1;
using compile::PlaceKind;
using explain::Grant;

// The kinds and verdicts in the order of the messages' numbers, which begin at 1.
constexpr PlaceKind kKinds[] = {PlaceKind::kMissing, PlaceKind::kDirectory, PlaceKind::kFile,
                                PlaceKind::kOther};
constexpr Verdict kVerdicts[] = {Verdict::kAllow, Verdict::kDeny, Verdict::kInvalid};
// … and at 0.
constexpr Grant::Key kGrantKeys[] = {Grant::Key::kOther,          Grant::Key::kMountRead,
                                     Grant::Key::kMountWrite,     Grant::Key::kWorkspaceWrite,
                                     Grant::Key::kNetworkFull,    Grant::Key::kExecutable,
                                     Grant::Key::kAllExecutables, Grant::Key::kLimit};

template <typename T, size_t N>
int IndexOf(const T (&values)[N], T value) {
  for (size_t i = 0; i < N; ++i) {
    if (values[i] == value) return static_cast<int>(i);
  }
  return 0;
}

template <typename T, size_t N>
bool IsIndex(const T (&)[N], int index) {
  return index >= 0 && index < static_cast<int>(N);
}

Result<Seen> FromProto(const pb::SeenPlace& place) {
  const int kind = place.kind() - 1;
  if (!IsIndex(kKinds, kind)) {
    return InvalidArgument("seen: " + place.path() + ": kind: missing, directory, file or other");
  }
  return Seen{kKinds[kind], place.uid(), place.mode(), place.closed_to_owner()};
}

}  // namespace

pb::CheckPolicyRequest ToProto(const Question& question, uint32_t owner_uid) {
  pb::CheckPolicyRequest out;
  const policy::SandboxRequest& request = question.request;
  pb::PrepareCellRequest* cell = out.mutable_cell();
  *cell->mutable_sandbox() = policy::ToProto(request);
  cell->set_workspace(request.workspace);
  if (request.workspace_identity.inode != 0) {
    *cell->mutable_workspace_identity() = policy::ToProto(request.workspace_identity);
  }
  cell->set_ephemeral(request.ephemeral);
  cell->set_owner_uid(owner_uid);
  if (question.about == About::kPath) out.set_path(question.path);
  if (question.about == About::kNetwork) out.set_network(true);
  for (const auto& [path, seen] : question.seen) {
    pb::SeenPlace* place = out.add_seen();
    place->set_path(path);
    place->set_kind(static_cast<pb::PlaceKind>(1 + IndexOf(kKinds, seen.kind)));
    place->set_uid(seen.uid);
    place->set_mode(seen.mode);
    place->set_closed_to_owner(seen.closed);
  }
  out.mutable_links()->insert(question.links.begin(), question.links.end());
  out.mutable_env_sources()->insert(question.env_sources.begin(), question.env_sources.end());
  return out;
}

Result<Question> FromProto(const pb::CheckPolicyRequest& request) {
  Question out;
  const pb::PrepareCellRequest& cell = request.cell();
  ODY_RETURN_IF_ERROR(policy::FromProto(cell.sandbox(), &out.request));
  out.request.workspace = cell.workspace();
  out.request.workspace_identity = policy::FromProto(cell.workspace_identity());
  out.request.ephemeral = cell.ephemeral();
  if (request.has_path()) {
    out.about = About::kPath;
    out.path = request.path();
  } else if (request.network()) {
    out.about = About::kNetwork;
  }
  for (const pb::SeenPlace& place : request.seen()) {
    ODY_ASSIGN_OR_RETURN(out.seen[place.path()], FromProto(place));
  }
  out.links.insert(request.links().begin(), request.links().end());
  out.env_sources.insert(request.env_sources().begin(), request.env_sources().end());
  return out;
}

pb::CheckPolicyResponse ToProto(const Answer& answer) {
  pb::CheckPolicyResponse out;
  out.set_verdict(static_cast<pb::PolicyVerdict>(1 + IndexOf(kVerdicts, answer.verdict)));
  out.set_rule(SanitizeUtf8(answer.rule));
  out.set_reason(SanitizeUtf8(answer.reason));
  if (!answer.grant.empty()) {
    out.mutable_grant()->set_text(SanitizeUtf8(answer.grant.text));
    out.mutable_grant()->set_key(static_cast<pb::GrantKey>(IndexOf(kGrantKeys, answer.grant.key)));
    out.mutable_grant()->set_value(SanitizeUtf8(answer.grant.value));
  }
  out.set_host_path(SanitizeUtf8(answer.host_path));
  out.set_through_link(answer.through_link);
  if (!answer.refusal.ok()) *out.mutable_refusal() = policy::ToProto(answer.refusal);
  out.set_policy_digest(answer.digest);
  for (const std::string& line : answer.plan) out.add_plan(SanitizeUtf8(line));
  for (const Granted& granted : answer.granted) {
    pb::GrantedByCeiling* added = out.add_granted();
    added->set_key(granted.key);
    added->set_value(SanitizeUtf8(granted.value));
    added->set_rule(SanitizeUtf8(granted.rule));
  }
  pb::OperatorCeiling* ceiling = out.mutable_ceiling();
  ceiling->set_directory(SanitizeUtf8(answer.ceiling.directory));
  ceiling->set_built_in(answer.ceiling.built_in);
  ceiling->set_digest(answer.ceiling.digest);
  for (const std::string& rule : answer.ceiling.rules) ceiling->add_rules(SanitizeUtf8(rule));
  ceiling->set_default_image(answer.ceiling.odek_default);
  return out;
}

Answer FromProto(const pb::CheckPolicyResponse& response) {
  Answer out;
  const int verdict = response.verdict() - 1;
  out.verdict = IsIndex(kVerdicts, verdict) ? kVerdicts[verdict] : Verdict::kInvalid;
  out.rule = response.rule();
  out.reason = response.reason();
  const int key = response.grant().key();
  out.grant = {IsIndex(kGrantKeys, key) ? kGrantKeys[key] : Grant::Key::kOther,
               response.grant().value(), response.grant().text()};
  out.host_path = response.host_path();
  out.through_link = response.through_link();
  if (response.has_refusal()) out.refusal = policy::FromProto(response.refusal());
  out.digest = response.policy_digest();
  out.plan.assign(response.plan().begin(), response.plan().end());
  for (const pb::GrantedByCeiling& granted : response.granted()) {
    out.granted.push_back({granted.key(), granted.value(), granted.rule()});
  }
  const pb::OperatorCeiling& ceiling = response.ceiling();
  out.ceiling = {ceiling.directory(),
                 ceiling.built_in(),
                 ceiling.digest(),
                 {ceiling.rules().begin(), ceiling.rules().end()},
                 ceiling.default_image()};
  return out;
}

}  // namespace odyssey::answer
