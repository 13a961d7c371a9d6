#include "supervisor/cell_init/connection_watch.h"

#include <fcntl.h>

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "policy/plan/kernel_memory.h"
#include "supervisor/cell_init/kernel_table.h"

namespace odyssey::cell_init {
namespace {

constexpr uint32_t kFew = 64;  // too few to look at

UniqueFd OpenTable(const char* path) { return UniqueFd(open(path, O_RDONLY | O_CLOEXEC)); }

// "TCP: inuse 5 orphan 0 …", "TCP6: inuse 3".
uint32_t InUse(int counts) {
  uint32_t in_use = 0;
  (void)ForEachLine(counts, [&](const std::string& line) {
    if (line.compare(0, 3, "TCP") != 0) return true;
    const size_t at = line.find("inuse ");
    if (at != std::string::npos)
      in_use = static_cast<uint32_t>(strtoul(line.c_str() + at + 6, nullptr, 10));
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
  constexpr const char* kEstablished = "01";
  constexpr const char* kCloseWait = "08";
  std::istringstream words(line);
  std::string number, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
  words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >>
      inode;
  const size_t received = queues.find(':');
  if (inode != "0" || received == std::string::npos) return;
  if (state != kEstablished && state != kCloseWait) return;
  ++waiting->connections;
  waiting->bytes += strtoull(queues.c_str() + received + 1, nullptr, 16);
}

}  // namespace

ConnectionWatch::ConnectionWatch(bool own_network)
    : own_network_(own_network),
      counts_(OpenTable("/proc/self/net/sockstat")),
      counts6_(OpenTable("/proc/self/net/sockstat6")),
      table_(OpenTable("/proc/self/net/tcp")),
      table6_(OpenTable("/proc/self/net/tcp6")) {}

bool ConnectionWatch::IsTooMuch() {
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
