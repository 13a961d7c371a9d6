#include "supervisor/egress/limits/meter.h"

#include <algorithm>
#include <utility>

namespace odyssey::egress {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds kMinute = std::chrono::minutes(1);
constexpr seconds kSoon{1};       // when a connection may have ended
constexpr size_t kSweepAt = 256;  // hosts

// So many a minute: at first all of them at once, then each when its part of the minute is over.
class Rate final {
 public:
  // 0: one more may come now.
  nanoseconds WaitFor(uint64_t per_minute, SteadyTime now) const {
    if (per_minute == 0) return nanoseconds(0);
    return std::max(nanoseconds(0), After(per_minute, now) - now - kMinute);
  }
  void Add(uint64_t per_minute, SteadyTime now) {
    if (per_minute != 0) paid_until_ = After(per_minute, now);
  }

 private:
  SteadyTime After(uint64_t per_minute, SteadyTime now) const {
    return std::max(paid_until_, now) + kMinute / static_cast<int64_t>(per_minute);
  }
  SteadyTime paid_until_{};
};

Excess Exhausted(const std::string& whose, uint64_t limit, const char* what, nanoseconds wait) {
  return {.code = kBudgetExceeded,
          .reason = whose + " has used its budget of " + std::to_string(limit) + " " + what,
          .retry_after = std::chrono::ceil<seconds>(wait)};
}

}  // namespace

// What counts against one budget.
struct Meter::Line {
  std::string whose;
  std::string code = kBudgetExceeded;
  Budget budget;
  uint64_t open = 0;
  Rate connections, requests;
  uint64_t up = 0, down = 0;
  bool changed = false;

  std::optional<Excess> BytesExcess() const {
    if (budget.bytes_up != 0 && up >= budget.bytes_up) {
      return Exhausted(whose, budget.bytes_up, "bytes sent", {});
    }
    if (budget.bytes_down != 0 && down >= budget.bytes_down) {
      return Exhausted(whose, budget.bytes_down, "bytes received", {});
    }
    return std::nullopt;
  }

  std::optional<Excess> ConnectionExcess(SteadyTime now) const {
    if (budget.max_connections != 0 && open >= budget.max_connections) {
      Excess out = Exhausted(whose, budget.max_connections, "connections at a time", kSoon);
      out.code = code;
      return out;
    }
    const nanoseconds wait = connections.WaitFor(budget.connections_per_minute, now);
    if (wait.count() == 0) return BytesExcess();
    return Exhausted(whose, budget.connections_per_minute, "connections a minute", wait);
  }

  std::optional<Excess> RequestExcess(SteadyTime now) const {
    const nanoseconds wait = requests.WaitFor(budget.requests_per_minute, now);
    if (wait.count() == 0) return BytesExcess();
    return Exhausted(whose, budget.requests_per_minute, "requests a minute", wait);
  }

  // What is more than the budget uses it up, and is not passed on.
  bool Count(Direction direction, uint64_t bytes) {
    const bool is_up = direction == Direction::kUp;
    uint64_t& used = is_up ? up : down;
    const uint64_t limit = is_up ? budget.bytes_up : budget.bytes_down;
    changed = true;
    if (limit == 0) {
      used += bytes;
      return true;
    }
    const uint64_t left = limit - std::min(used, limit);
    used += std::min(bytes, left);
    return bytes <= left;
  }
};

Meter::Meter(uint64_t per_host) : per_host_(per_host), sweep_hosts_at_(kSweepAt) {}
Meter::~Meter() = default;

void Meter::SetPolicy(const NetworkPolicy& policy) {
  budgets_.clear();
  budgets_[""] = policy.budget;
  for (const Rule& rule : policy.rules) {
    for (const Endpoint& endpoint : rule.endpoints) budgets_[endpoint.key] = endpoint.budget;
  }
  for (const auto& [key, line] : lines_) {
    const auto it = budgets_.find(key);
    line->budget = it == budgets_.end() ? Budget{} : it->second;
  }
}

std::shared_ptr<Meter::Line> Meter::LineOf(const std::string& key) {
  std::shared_ptr<Line>& line = lines_[key];
  if (line) return line;
  line = std::make_shared<Line>();
  line->whose = key.empty() ? "the cell" : key;
  const auto it = budgets_.find(key);
  if (it != budgets_.end()) line->budget = it->second;
  return line;
}

std::vector<std::shared_ptr<Meter::Line>> Meter::LinesOf(const std::vector<Pair>& pairs) {
  std::vector<std::shared_ptr<Line>> lines = {LineOf("")};
  for (const Pair& pair : pairs) {
    std::shared_ptr<Line> line = LineOf(pair.endpoint->key);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

// Hosts are as many as a command of the cell names: those without a connection are dropped.
std::shared_ptr<Meter::Line> Meter::HostLine(const std::string& host) {
  if (hosts_.size() >= sweep_hosts_at_) {
    std::erase_if(hosts_, [](const auto& entry) { return entry.second.use_count() == 1; });
    sweep_hosts_at_ = kSweepAt + 2 * hosts_.size();
  }
  std::shared_ptr<Line>& line = hosts_[host];
  if (line) return line;
  line = std::make_shared<Line>();
  line->whose = host;
  line->code = kOverloaded;
  line->budget.max_connections = per_host_;
  return line;
}

std::unique_ptr<Meter::Account> Meter::Open(const std::string& host, const std::vector<Pair>& pairs,
                                            SteadyTime now, Excess* why) {
  std::vector<std::shared_ptr<Line>> lines = LinesOf(pairs);
  lines.push_back(HostLine(host));
  for (const auto& line : lines) {
    if (auto excess = line->ConnectionExcess(now)) {
      *why = std::move(*excess);
      return nullptr;
    }
  }
  for (const auto& line : lines) line->connections.Add(line->budget.connections_per_minute, now);
  return std::make_unique<Account>(std::move(lines));
}

std::optional<Excess> Meter::AddRequest(const std::vector<Pair>& pairs, SteadyTime now) {
  const std::vector<std::shared_ptr<Line>> lines = LinesOf(pairs);
  for (const auto& line : lines) {
    if (auto excess = line->RequestExcess(now)) return excess;
  }
  for (const auto& line : lines) line->requests.Add(line->budget.requests_per_minute, now);
  return std::nullopt;
}

void Meter::Restore(const Used& used) {
  Line& line = *LineOf(used.key);
  line.up = std::max(line.up, used.up);
  line.down = std::max(line.down, used.down);
}

bool Meter::is_open() const {
  const auto cell = lines_.find("");
  return cell != lines_.end() && cell->second->open > 0;
}

std::vector<Used> Meter::TakeChanged() {
  std::vector<Used> out;
  for (const auto& [key, line] : lines_) {
    if (std::exchange(line->changed, false)) out.push_back({key, line->up, line->down, line->open});
  }
  return out;
}

Meter::Account::Account(std::vector<std::shared_ptr<Line>> lines) : lines_(std::move(lines)) {
  for (const auto& line : lines_) {
    ++line->open;
    line->changed = true;
  }
}

Meter::Account::~Account() {
  for (const auto& line : lines_) {
    --line->open;
    line->changed = true;
  }
}

bool Meter::Account::Count(Direction direction, uint64_t bytes) {
  for (const auto& line : lines_) {
    if (excess_) return false;
    if (!line->Count(direction, bytes)) excess_ = line->BytesExcess();
  }
  return !excess_;
}

}  // namespace odyssey::egress
