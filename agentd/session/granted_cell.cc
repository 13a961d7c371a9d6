#include "agentd/session/granted_cell.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "agentd/mcp_client/servers.h"
#include "agentd/session/limits_in_force.h"
#include "agentd/session/widen.h"
#include "agentd/tool/grant_arguments.h"
#include "agentd/tool/tool_result.h"
#include "common/base/refusal.h"
#include "policy/egress/pattern.h"
#include "policy/egress/reach.h"
#include "policy/lattice/lattice.h"

namespace odyssey::session {
namespace {

using agent::v1::Grant;
using agent::v1::Grants;

constexpr char kGrants[] = "grants";

std::set<std::string> IdsOf(const std::vector<SessionGrant>& granted) {
  std::set<std::string> ids;
  for (const SessionGrant& grant : granted) ids.insert(grant.id);
  return ids;
}

bool IsLimit(const Grant& grant) { return grant.key() == supervisor::v1::GRANT_KEY_LIMIT; }

// What the bundle says of a limit is no longer what is asked for.
void AddTo(const Grants& grants, TurnSetup* setup) {
  setup->cell.request = Widen(std::move(setup->cell.request), grants);
  for (const Grant& grant : grants.grants()) {
    if (IsLimit(grant)) setup->origins.Forget("limits." + grant.limit());
  }
}

// What no addition may change, whatever the operator allows.
Status CheckGrantable(const Grants& asked, const policy::SandboxRequest& request) {
  if (policy::IsDanger(request)) {
    return Refused(Code::kFailedPrecondition, kGrants, "",
                   "commands run on the host itself (danger_full_access): there is no cell to "
                   "add to; leave it out");
  }
  if (!policy::HasReviewedWrites(request)) return OkStatus();
  for (const Grant& grant : asked.grants()) {
    if (grant.key() != supervisor::v1::GRANT_KEY_MOUNT_WRITE) continue;
    return Refused(Code::kFailedPrecondition, kGrants, tools::GrantText(grant),
                   "the session writes to host directories on a copy, for review, and a granted "
                   "mount is written directly; mount_read is allowed");
  }
  return OkStatus();
}

// Where only the endpoints differ the cell stays.
bool IsOfAnotherCell(policy::SandboxRequest now, policy::SandboxRequest next) {
  now.egress = {};
  next.egress = {};
  return !(now == next);
}

}  // namespace

Result<TurnSetup> WithGrants(const TurnSetup& setup, const std::vector<SessionGrant>& granted,
                             const Runtime& runtime) {
  TurnSetup out = setup;
  const bool raises_limits =
      std::any_of(granted.begin(), granted.end(), [](const SessionGrant& grant) {
        const auto& grants = grant.grants.grants();
        return std::any_of(grants.begin(), grants.end(), IsLimit);
      });
  if (raises_limits) ODY_RETURN_IF_ERROR(FillLimits(runtime, &out));
  for (const SessionGrant& grant : granted) {
    AddTo(grant.grants, &out);
    out.cell.granted_by.push_back(grant.id);
  }
  if (raises_limits) out.wall_clock_ms = out.cell.request.limits.wall_clock_ms;
  return out;
}

event::Event GrantEnds(const std::string& turn_id, const std::string& request_id,
                       const std::string& reason, uint32_t by_uid) {
  event::Event event;
  agent::v1::GrantEnded& ended = *event.mutable_grant_ended();
  ended.set_turn_id(turn_id);
  ended.set_request_id(request_id);
  ended.set_reason(reason);
  ended.set_by_uid(by_uid);
  return event;
}

GrantedCell::GrantedCell(std::string session_id, std::string turn_id, const Runtime* runtime,
                         Hooks hooks)
    : session_id_(std::move(session_id)),
      turn_id_(std::move(turn_id)),
      runtime_(runtime),
      hooks_(std::move(hooks)) {}

std::vector<SessionGrant> GrantedCell::Granted() const {
  return runtime_->grants->Of(session_id_, runtime_->clock->Now());
}

Result<Grants> GrantedCell::Beyond(const Grants& asked) const {
  if (asked.grants().empty()) return asked;
  ODY_ASSIGN_OR_RETURN(Grants beyond, BeyondPresent(asked));
  if (!beyond.grants().empty()) ODY_RETURN_IF_ERROR(CheckIdle());
  return beyond;
}

Result<Grants> GrantedCell::BeyondNetwork(const Grants& asked) const {
  return BeyondPresent(asked);
}

bool GrantedCell::NamesDestination(const std::string& host, uint16_t port) const {
  const Result<TurnSetup> present = WithGrants(*setup_, Granted(), *runtime_);
  if (!present.ok()) return true;
  const std::string is_private = egress::KnownPrivate(host);
  return egress::NamesDestination(present->cell.request.egress, {host, port, "", is_private});
}

Result<Grants> GrantedCell::BeyondPresent(const Grants& asked) const {
  ODY_RETURN_IF_ERROR(CheckGrantable(asked, setup_->cell.request));
  ODY_ASSIGN_OR_RETURN(TurnSetup present, WithGrants(*setup_, Granted(), *runtime_));
  ODY_RETURN_IF_ERROR(FillLimits(*runtime_, &present));
  ODY_ASSIGN_OR_RETURN(const Grants beyond, session::Beyond(present.cell.request, asked));
  for (const Grant& grant : beyond.grants()) {
    TurnSetup wider = present;
    Grants one;
    *one.add_grants() = grant;
    AddTo(one, &wider);
    ODY_RETURN_IF_ERROR(CheckAllowed(wider, grant));
  }
  return beyond;
}

Status GrantedCell::CheckAllowed(const TurnSetup& wider, const Grant& grant) const {
  if (setup_->within) {
    policy::SandboxRequest callers = *setup_->within;
    ODY_RETURN_IF_ERROR(FillLimits(*runtime_, &callers));
    const Status within = lattice::IsWithin(wider.cell.request, callers);
    if (!within.ok()) {
      return Refused(Code::kPermissionDenied, kGrants, tools::GrantText(grant),
                     "a worker gets no more than its caller has: " + within.message());
    }
  }
  const Status allowed = runtime_->sandbox->CheckCell(wider.cell);
  if (allowed.ok() || tools::EndsTurn(allowed)) return allowed;
  return WithMessage(std::string(kGrants) + ": " + tools::GrantText(grant) + ": " +
                         std::string(WhyRefused(allowed)),
                     allowed);
}

// A wider cell replaces the one that is there, with what runs in it.
Status GrantedCell::CheckIdle() const {
  ODY_ASSIGN_OR_RETURN(const std::vector<sandbox::Cell> cells, runtime_->sandbox->ListCells());
  for (const sandbox::Cell& cell : cells) {
    if (!(cell.key == setup_->cell.key)) continue;
    // Servers are started again where they are needed.
    const uint32_t servers = runtime_->servers->CountIn(session_id_, cell.id);
    if (cell.running_execs <= servers) continue;
    return FailedPrecondition(
        "grants: " + std::to_string(cell.running_execs - servers) +
        " commands run in the session's cell, and a wider one would kill them; end them, or wait");
  }
  return OkStatus();
}

void GrantedCell::Add(const agent::v1::PermissionRequested& request, const approval::Answer& answer,
                      agent::v1::GrantScope once, turn::Answered* answered) {
  SessionGrant grant;
  grant.scope = once;
  grant.id = request.request_id();
  grant.grants = request.grants();
  grant.by_uid = answer.by_uid;
  if (answer.grant_scope == agent::v1::GRANT_SCOPE_SESSION) {
    grant.scope = agent::v1::GRANT_SCOPE_SESSION;
    if (answer.grant_duration_ms != 0) {
      grant.expires_at =
          runtime_->clock->Now() + std::chrono::milliseconds(answer.grant_duration_ms);
      answered->grants_expire_at = agent::FormatTime(*grant.expires_at);
    }
  } else if (once == agent::v1::GRANT_SCOPE_CALL) {
    of_call_ = grant.id;
  }
  answered->grant_scope = grant.scope;
  runtime_->grants->Add(session_id_, std::move(grant));
}

void GrantedCell::AddByRule(const Grants& grants) {
  SessionGrant grant;
  grant.id = runtime_->ids->New("rul");
  grant.grants = grants;
  grant.scope = agent::v1::GRANT_SCOPE_TURN;
  grant.by_uid = getuid();
  runtime_->grants->Add(session_id_, std::move(grant));
}

Status GrantedCell::Enter() {
  for (const SessionGrant& grant :
       runtime_->grants->TakeExpired(session_id_, runtime_->clock->Now())) {
    ODY_RETURN_IF_ERROR(hooks_.record(GrantEnds(turn_id_, grant.id, "expired", getuid())));
  }
  for (;;) {
    const std::vector<SessionGrant> granted = Granted();
    if (!stale_ && IdsOf(granted) == in_force_) return OkStatus();
    Status prepared = Prepare(granted);
    if (prepared.ok() || tools::EndsTurn(prepared)) return prepared;
    // What has just been added is to blame, or what the operator no longer allows.
    const SessionGrant* blamed = nullptr;
    for (const SessionGrant& grant : granted) {
      if (!id_.empty() && in_force_.count(grant.id) == 0) blamed = &grant;
    }
    const bool is_new = blamed != nullptr;
    if (!is_new) blamed = FindRefused(granted);
    if (blamed == nullptr) return prepared;
    End(*blamed, "refused");
    if (is_new) return prepared;
  }
}

Status GrantedCell::Prepare(const std::vector<SessionGrant>& granted) {
  ODY_ASSIGN_OR_RETURN(TurnSetup setup, WithGrants(*setup_, granted, *runtime_));
  const std::set<std::string> ids = IdsOf(granted);
  // They would keep their cell from being replaced, and are started again in the next one.
  if (!id_.empty() && IsOfAnotherCell(request_, setup.cell.request)) {
    runtime_->servers->EndProcesses(session_id_);
  }
  // What has ended takes along what runs with it; what is added kills nothing.
  setup.cell.spare_running =
      !id_.empty() && std::includes(ids.begin(), ids.end(), in_force_.begin(), in_force_.end());
  stale_ = true;
  ODY_ASSIGN_OR_RETURN(id_, PrepareSessionCell(session_id_, setup, *runtime_));
  stale_ = false;
  in_force_ = ids;
  request_ = setup.cell.request;
  wall_clock_ms_ = setup.wall_clock_ms;
  hooks_.on_cell(id_);
  return OkStatus();
}

const SessionGrant* GrantedCell::FindRefused(const std::vector<SessionGrant>& granted) const {
  if (!runtime_->sandbox->CheckCell(setup_->cell).ok()) return nullptr;  // the cell without them
  for (const SessionGrant& grant : granted) {
    const Result<TurnSetup> with = WithGrants(*setup_, {grant}, *runtime_);
    if (!with.ok() || !runtime_->sandbox->CheckCell(with->cell).ok()) return &grant;
  }
  // What the ceiling allows and the host does not: a directory that is gone, for example.
  return granted.empty() ? nullptr : &granted.back();
}

void GrantedCell::End(const SessionGrant& grant, const std::string& reason) {
  runtime_->grants->Remove(session_id_, grant.id);
  if (of_call_ == grant.id) of_call_.clear();
  if (grant.scope != agent::v1::GRANT_SCOPE_SESSION) return;
  // A journal that cannot be written fails the turn at its next event.
  (void)hooks_.record(GrantEnds(turn_id_, grant.id, reason, getuid()));
}

void GrantedCell::Leave() {
  if (of_call_.empty()) return;
  runtime_->grants->Remove(session_id_, of_call_);
  const bool had_it = in_force_.erase(std::exchange(of_call_, {})) != 0;
  if (!had_it) return;
  stale_ = true;
  // Where this fails the supervisor has ended, or the next cell of the session ends this one.
  (void)runtime_->sandbox->RemoveCell(id_, /*purge=*/false);
}

// Jobs outlive the turn, so the cell is narrowed now and not by the next one; also from what could
// not be put in force in time, and may be since.
void GrantedCell::LeaveTurn() {
  bool had_some = false;
  for (const SessionGrant& grant : Granted()) {
    if (grant.scope != agent::v1::GRANT_SCOPE_TURN) continue;
    runtime_->grants->Remove(session_id_, grant.id);
    had_some = true;
  }
  if (!had_some || Prepare(Granted()).ok()) return;
  (void)runtime_->sandbox->RemoveCell(id_, /*purge=*/false);
}

}  // namespace odyssey::session
