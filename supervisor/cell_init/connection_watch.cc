#include "supervisor/cell_init/connection_watch.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "policy/plan/kernel_memory.h"
#include "supervisor/cell_init/kernel_table.h"

namespace odyssey::cell_init {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kFew = 64;  // too few to look at

// "TCP: inuse 5 orphan 0 …", "TCP6: inuse 3".
uint32_t InUse(int counts) {
  uint32_t in_use = 0;
  (void)ForEachLine(counts, [&](const std::string& line) {
    if (line.compare(0, 3, "TCP") != 0) return true;
    const auto words = WordsOf(line);
    if (words.size() > 2 && words[1] == "inuse") in_use = NumberIn(words[2]);
    return false;
  });
  return in_use;
}

struct Waiting {
  uint64_t connections = 0;
  uint64_t bytes = 0;

  bool IsTooMuch() const {
    return connections > cell::kMaxWaitingConnections || bytes > cell::kMaxWaitingBytes;
  }
};

// Counts a connection that can carry data, and that no process has or ever had: those that were
// had and closed are in other states.
void Count(const std::string& line, Waiting* waiting) {
  enum Word { kState = 3, kQueues = 4, kInode = 9 };
  constexpr std::string_view kEstablished = "01", kCloseWait = "08";
  const auto words = WordsOf(line);
  if (words.size() <= kInode || words[kInode] != "0") return;
  if (words[kState] != kEstablished && words[kState] != kCloseWait) return;
  const std::string_view queues = words[kQueues];  // "00000000:0000EA60": to send, received
  uint32_t received = 0;
  const char* end = queues.data() + queues.size();
  (void)std::from_chars(end - std::min(queues.size(), size_t{8}), end, received, 16);
  ++waiting->connections;
  waiting->bytes += received;
}

}  // namespace

ConnectionWatch::ConnectionWatch(bool own_network)
    : own_network_(own_network),
      counts_(OpenTable("/proc/self/net/sockstat")),
      counts6_(OpenTable("/proc/self/net/sockstat6")),
      table_(OpenTable("/proc/self/net/tcp")),
      table6_(OpenTable("/proc/self/net/tcp6")) {}

void ConnectionWatch::Begin() {
  if (watching_ || !own_network_) return;
  watching_ = true;
  next_look_ = Clock::now() + std::chrono::milliseconds(kBetweenLooksMs);
}

int ConnectionWatch::TimeoutMs() const {
  if (!watching_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_look_ - Clock::now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

bool ConnectionWatch::IsTooMuch() {
  next_look_ = Clock::now() + std::chrono::milliseconds(kBetweenLooksMs);
  const uint32_t in_use = InUse(counts_.get()) + InUse(counts6_.get());
  watching_ = in_use != 0;
  // The tables go through every connection of the host's.
  if (in_use <= kFew) return false;
  Waiting waiting;
  for (const UniqueFd* table : {&table_, &table6_}) {
    (void)ForEachLine(table->get(), [&](const std::string& line) {
      Count(line, &waiting);
      return !waiting.IsTooMuch();
    });
  }
  return waiting.IsTooMuch();
}

}  // namespace odyssey::cell_init
