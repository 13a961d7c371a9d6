#include "supervisor/rpc/cell_egress.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "common/os/file.h"
#include "policy/egress/pattern.h"
#include "supervisor/egress/tls/authority.h"

namespace odyssey::supervisor {
namespace {

constexpr auto kLoadTimeout = std::chrono::seconds(5);
// Of an egress worker that is stopped or overloaded: the outcome goes without the rest.
constexpr auto kDecisionsTimeout = std::chrono::milliseconds(500);
constexpr size_t kMaxDecisions = 64;  // as supervisor.proto says
constexpr size_t kMaxDenials = 16;

// The certificates by which the host's programs verify servers (PEM), read once; "": there are
// none.
const std::string& HostCertificates() {
  constexpr size_t kMost = 4 << 20;
  static const Result<std::string> text = ReadFile("/etc/ssl/certs/ca-certificates.crt", kMost);
  static const std::string none;
  return text.ok() ? *text : none;
}

void ToProto(const egress_wire::Record& record, v1::EgressDecision* out) {
  constexpr v1::EgressVerdict kVerdicts[] = {v1::EGRESS_VERDICT_ALLOWED, v1::EGRESS_VERDICT_DENIED,
                                             v1::EGRESS_VERDICT_AUDITED};
  out->set_verdict(kVerdicts[static_cast<size_t>(record.verdict)]);
  out->set_way(record.way);
  out->set_host(record.host);
  out->set_port(record.port);
  out->set_program(record.program);
  out->set_rule(record.rule);
  out->set_code(record.code);
  out->set_reason(record.reason);
  out->set_grant(record.grant);
  out->set_method(record.method);
  out->set_path(record.path);
  out->set_status(record.status);
}

// A name alone has no port.
std::string PlaceOf(const egress_wire::Record& record) {
  const std::string host = egress::BeforePort(record.host);
  return record.port == 0 ? host : host + ":" + std::to_string(record.port);
}

explain::Denial DenialOf(const egress_wire::Record& record) {
  const bool request = !record.method.empty() && !record.rule.empty();
  explain::Denial out;
  out.kind = "network";
  out.resource = request ? record.method + " " + PlaceOf(record) + record.path : PlaceOf(record);
  out.access = record.port == 0 ? "resolve" : request ? "request" : "connect";
  out.rule = "egress " + record.code + ": " + record.reason;
  out.process = record.program;
  if (record.grant.empty()) return out;
  out.grant = request ? explain::Grant(record.grant)
                      : explain::Grant(explain::Grant::Key::kNetworkEndpoint, PlaceOf(record),
                                       record.grant);
  return out;
}

}  // namespace

CellEgress::CellEgress(EventLoop* loop, Recorder recorder, std::function<void()> on_ready)
    : loop_(loop), recorder_(std::move(recorder)), on_ready_(std::move(on_ready)) {}

Status CellEgress::Open(const CellFacts& cell, const std::string& broker_socket) {
  const std::weak_ptr<CellEgress> weak = weak_from_this();
  const auto call = [weak](auto method) {
    return [weak, method](const auto& message) {
      if (const auto self = weak.lock()) ((*self).*method)(message);
    };
  };
  // These come also when the cell has ended.
  const auto told = [call](auto record, auto method) {
    return [record, own = call(method)](const auto& message) {
      record(message);
      own(message);
    };
  };
  EgressLink::Events events{.on_record = told(recorder_.on_record, &CellEgress::OnDecision),
                            .on_traffic = told(recorder_.on_traffic, &CellEgress::OnTraffic),
                            .on_loaded = call(&CellEgress::OnLoaded),
                            .on_synced = call(&CellEgress::OnSynced),
                            .on_placeholders = call(&CellEgress::OnPlaceholders)};
  link_ = std::make_shared<EgressLink>(loop_, broker_socket, cell.id, std::move(events));
  ODY_RETURN_IF_ERROR(link_->Open());
  ODY_ASSIGN_OR_RETURN(const egress::tls::Authority authority,
                       egress::tls::Authority::Make(cell.id, std::chrono::system_clock::now()));
  ODY_ASSIGN_OR_RETURN(const std::string text, authority.Save());
  certificates_ = authority.certificate_pem() + HostCertificates();
  link_->SetAuthority(text);
  const uint32_t owner = cell.admission.owner.uid;
  ready_ = cell.request.providers.empty();
  link_->SetProviders(owner, cell.request.providers);
  SetPolicy(cell.request.egress, {.source = "prepare", .by_uid = owner, .at = cell.created_at});
  return OkStatus();
}

void CellEgress::Close() {
  if (link_) link_->Close();
  loop_->Cancel(std::exchange(timer_, EventLoop::kNoTimer));
  for (const auto& done : std::exchange(waiting_, {})) done(Unavailable("the cell ended"));
}

void CellEgress::SetProviders(uint32_t owner_uid, const std::vector<std::string>& names) {
  ready_ = names.empty();
  if (names.empty()) {
    env_.clear();
    failure_ = OkStatus();
  }
  link_->SetProviders(owner_uid, names);
  const EgressRevision& current = revisions_.current();
  link_->SetPolicy(current.policy, current.number);
}

bool CellEgress::SetPolicy(const egress::NetworkPolicy& policy, const EgressChange& change) {
  if (!revisions_.Add(policy, change)) return false;
  link_->SetPolicy(policy, revisions_.current().number);
  return true;
}

void CellEgress::AwaitLoaded(const std::function<void(const Status&)>& done) {
  if (revisions_.current().loaded) return done(OkStatus());
  waiting_.push_back(done);
  if (timer_ != EventLoop::kNoTimer) return;
  timer_ = loop_->At(Clock::now() + kLoadTimeout, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->timer_ = EventLoop::kNoTimer;
    for (const auto& waiter : std::exchange(self->waiting_, {})) {
      waiter(
          Unavailable("odyssey-egress has not loaded the policy in 5 seconds; it is loaded when "
                      "odyssey-egress answers again"));
    }
  });
}

void CellEgress::OnLoaded(const uint64_t& revision) {
  revisions_.SetLoaded(revision);
  if (!revisions_.current().loaded) return;
  loop_->Cancel(std::exchange(timer_, EventLoop::kNoTimer));
  for (const auto& done : std::exchange(waiting_, {})) done(OkStatus());
}

// After the first time: a provider was changed, and the next command gets what it says now.
void CellEgress::OnPlaceholders(const egress_wire::Placeholders& placeholders) {
  env_.clear();
  for (const egress_wire::Placeholder& one : placeholders.placeholders) env_[one.key] = one.text;
  const auto& errors = placeholders.errors;
  failure_ = errors.empty() ? OkStatus() : FailedPrecondition("providers: " + errors.front());
  if (!std::exchange(ready_, true)) on_ready_();
}

cell::OpenEgress CellEgress::Ways() const {
  const egress::NetworkPolicy& policy = revisions_.current().policy;
  return {.ways = EgressLink::WaysOf(policy), .files = egress::HasPins(policy)};
}

// ── What was decided ────────────────────────────────────────────────────────────────────────────

void CellEgress::OnDecision(const egress_wire::Record& record) {
  decided_ += std::max<uint64_t>(record.suppressed, 1);
  if (record.suppressed == 0 && decisions_.size() < kMaxDecisions) decisions_.push_back(record);
}

void CellEgress::OnTraffic(const egress_wire::Traffic& more) {
  traffic_.up += more.up;
  traffic_.down += more.down;
  traffic_.open = more.open;
}

bool CellEgress::AwaitDecisions(std::function<void()> done) {
  const uint64_t number = ++last_sync_;
  if (!link_->Sync(number)) return false;
  const uint64_t timer =
      loop_->At(Clock::now() + kDecisionsTimeout, [weak = weak_from_this(), number] {
        if (const auto self = weak.lock()) self->OnSynced(number);
      });
  waiters_[number] = {std::move(done), timer};
  return true;
}

void CellEgress::OnSynced(const uint64_t& number) {
  const auto self = shared_from_this();  // `done` may end the cell
  while (!waiters_.empty() && waiters_.begin()->first <= number) {
    const Waiter waiter = std::move(waiters_.begin()->second);
    waiters_.erase(waiters_.begin());
    loop_->Cancel(waiter.timer);
    waiter.done();
  }
}

void CellEgress::ForgetDecisions() {
  decisions_.clear();
  decided_ = 0;
}

void CellEgress::Describe(v1::ExecOutcome* outcome, std::vector<explain::Denial>* denials) const {
  std::vector<explain::Denial> refused;
  for (const egress_wire::Record& record : decisions_) {
    ToProto(record, outcome->add_egress());
    if (record.verdict != egress_wire::Verdict::kDenied) continue;
    explain::Denial denial = DenialOf(record);
    const auto same = std::find_if(refused.begin(), refused.end(),
                                   [&](const auto& known) { return IsSameThing(known, denial); });
    if (same != refused.end()) {
      ++same->count;
    } else if (refused.size() < kMaxDenials) {
      refused.push_back(std::move(denial));
    }
  }
  outcome->set_egress_decisions(decided_);
  denials->insert(denials->end(), refused.begin(), refused.end());
}

}  // namespace odyssey::supervisor
