#include "supervisor/cell_init/connection_watch.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "policy/plan/kernel_memory.h"
#include "supervisor/cell_init/kernel_table.h"

namespace odyssey::cell_init {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kFew = 64;  // too few to look at

// What is added to the eventfd, which loses nothing: one more that listens in the low half, one
// less in the high one.
constexpr uint64_t kBegan = 1, kEnded = uint64_t{1} << 32;

// The kernel goes through the connections of all the host, some milliseconds with none, before it
// says that there is no other line: a look has at most one fiftieth of the time. But a cell with
// many listeners makes a look long, and has no longer to fill them.
constexpr int kRest = 50;
constexpr std::chrono::seconds kLongestRest{1};

void Tell(int watch, uint64_t what) { (void)!write(watch, &what, sizeof(what)); }

bool AreFew() {
  const auto used = SocketsUsed(OpenTable("/proc/self/net/sockstat").get());
  return used && *used <= kFew;
}

uint32_t HexNumber(std::string_view word) {
  uint32_t number = 0;
  (void)std::from_chars(word.data(), word.data() + word.size(), number, 16);
  return number;
}

struct Listeners {
  uint32_t number = 0;
  uint64_t waiting = 0;
};

// Adds those of one table: a listener's line has what waits to be accepted where others have what
// was received. Connections that were reset are counted there, and in no line of their own. False:
// not readable.
bool AddListeners(const char* path, Listeners* listeners) {
  enum Word { kState = 3, kQueues = 4, kUid = 7 };
  constexpr std::string_view kListen = "0A";
  const UniqueFd table = OpenTable(path);
  if (!table) return access(path, F_OK) != 0;  // a kernel without IPv6
  bool is_title = true;
  return ForEachLine(table.get(), [&](const std::string& line) {
    if (std::exchange(is_title, false)) return true;
    const auto words = WordsOf(line);
    if (words.size() <= kUid || words[kState] != kListen) return false;  // listeners are first
    if (NumberIn(words[kUid]) != getuid()) return true;
    ++listeners->number;
    const size_t colon = words[kQueues].find(':');  // "00000000:00000010"
    if (colon != std::string_view::npos) {
      listeners->waiting += HexNumber(words[kQueues].substr(colon + 1));
    }
    return listeners->waiting <= cell::kMaxWaitingConnections;
  });
}

std::optional<Listeners> OwnListeners() {
  Listeners listeners;
  const bool is_read = AddListeners("/proc/self/net/tcp", &listeners) &&
                       AddListeners("/proc/self/net/tcp6", &listeners);
  if (!is_read) return std::nullopt;
  return listeners;
}

}  // namespace

ConnectionWatch::ConnectionWatch() : commands_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void ConnectionWatch::Receive() {
  uint64_t told = 0;
  if (read(commands_.get(), &told, sizeof(told)) != sizeof(told)) return;
  listening_ += told % kEnded;
  listening_ -= std::min(listening_, told / kEnded);
  if (watching_) return;
  watching_ = true;
  next_look_ = Clock::now() + std::chrono::milliseconds(kBetweenLooksMs);
}

int ConnectionWatch::TimeoutMs() const {
  if (!watching_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_look_ - Clock::now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

bool ConnectionWatch::IsTooMuch() {
  if (TimeoutMs() != 0) return false;
  const auto began = Clock::now();
  next_look_ = began + std::chrono::milliseconds(kBetweenLooksMs);
  // A listener that was told may be about to come as long as its command lives.
  if (listening_ > 0 && AreFew()) return false;
  const auto listeners = OwnListeners();
  watching_ = listening_ > 0 || !listeners || listeners->number > 0;
  const auto now = Clock::now();
  next_look_ =
      std::max(next_look_, now + std::min<Clock::duration>(kRest * (now - began), kLongestRest));
  return !listeners || listeners->waiting > cell::kMaxWaitingConnections;
}

void BeginListening(int watch) { Tell(watch, kBegan); }

void EndListening(int watch) { Tell(watch, kEnded); }

}  // namespace odyssey::cell_init
