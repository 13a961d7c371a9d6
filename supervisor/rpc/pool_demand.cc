#include "supervisor/rpc/pool_demand.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace odyssey::supervisor {
namespace {

// Two that follow each other closely may be all that there are; four are a rate.
constexpr size_t kRateAsks = 4;

std::optional<uint64_t> FigureOf(std::string_view meminfo, std::string_view name) {
  const size_t line = meminfo.find(name);
  if (line == std::string_view::npos) return std::nullopt;
  const size_t digits = meminfo.find_first_of("0123456789", line + name.size());
  if (digits == std::string_view::npos) return std::nullopt;
  uint64_t figure = 0;
  std::from_chars(meminfo.data() + digits, meminfo.data() + meminfo.size(), figure);
  return figure;
}

}  // namespace

void PoolDemand::OnAsked(Clock::time_point now) {
  asked_.push_back(now);
  if (asked_.size() > kRateAsks) asked_.pop_front();
}

size_t PoolDemand::CellsAhead(Clock::time_point now, Clock::duration make_time,
                              const PoolOptions& options) const {
  const auto counts = [&](Clock::time_point asked) { return now - asked < options.idle; };
  const auto recent = static_cast<size_t>(std::count_if(asked_.begin(), asked_.end(), counts));
  if (recent < 2) return 0;
  if (recent < kRateAsks) return std::min<size_t>(1, options.cells);
  const Clock::duration gap = (now - asked_.front()) / (kRateAsks - 1);
  // Those that are asked for while one is made, and one.
  const auto meanwhile = gap.count() <= 0 ? options.cells : static_cast<size_t>(make_time / gap);
  return std::min(1 + meanwhile, options.cells);
}

bool PoolDemand::Displaces(const PoolDemand& other) const {
  if (asked_.size() < 2) return false;
  return other.asked_.empty() || *(asked_.rbegin() + 1) > other.asked_.back();
}

bool PoolDemand::Over(Clock::time_point now, const PoolOptions& options) const {
  return asked_.empty() || now - asked_.back() >= options.idle;
}

bool MemoryIsShort(std::string_view meminfo) {
  constexpr uint64_t kShare = 16;
  const auto total = FigureOf(meminfo, "MemTotal:");
  const auto available = FigureOf(meminfo, "MemAvailable:");
  return total && available && *available < *total / kShare;
}

}  // namespace odyssey::supervisor
