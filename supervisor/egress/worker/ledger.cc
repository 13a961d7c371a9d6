#include "supervisor/egress/worker/ledger.h"

#include <chrono>
#include <string>
#include <utility>

namespace odyssey::egress {
namespace {

using egress_wire::Verdict;

audit::Time Now() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

}  // namespace

Ledger::Ledger(asio::io_context* loop, std::shared_ptr<Link> broker, uint64_t per_host)
    : broker_(std::move(broker)), meter_(per_host), timer_(*loop) {}

void Ledger::Report(const egress_wire::Record& record) {
  if (limit_.Admit({.type = std::to_string(static_cast<int>(record.verdict))}, Now())) {
    broker_->Send(egress_wire::Encode(record));
  } else {
    FlushLater();
  }
}

std::unique_ptr<Meter::Account> Ledger::Open(const std::string& host,
                                             const std::vector<Pair>& pairs, Excess* why) {
  FlushLater();
  return meter_.Open(host, pairs, std::chrono::steady_clock::now(), why);
}

void Ledger::Flush() {
  SendUsed();
  SendCounts(limit_.TakeAll());
}

void Ledger::FlushLater() {
  if (std::exchange(waiting_, true)) return;
  timer_.expires_after(audit::RateLimit::kInterval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    waiting_ = false;
    SendUsed();
    SendCounts(limit_.TakeEnded(Now()));
    if (meter_.is_open() || limit_.pending()) FlushLater();
  });
}

void Ledger::SendUsed() {
  for (const Used& used : meter_.TakeChanged()) {
    broker_->Send(egress_wire::Encode(egress_wire::Traffic{
        .key = used.key, .up = used.up, .down = used.down, .open = used.open}));
  }
}

void Ledger::SendCounts(const std::vector<audit::RateLimit::Suppressed>& counts) {
  for (const auto& [subject, count] : counts) {
    egress_wire::Record record;
    record.verdict = static_cast<Verdict>(std::stoi(subject.type));
    record.reason = "and " + std::to_string(count) + " more like it";
    record.suppressed = count;
    broker_->Send(egress_wire::Encode(record));
  }
}

}  // namespace odyssey::egress
