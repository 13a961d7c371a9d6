#ifndef ODYSSEY_AGENTD_SANDBOX_EXEC_FEED_H_
#define ODYSSEY_AGENTD_SANDBOX_EXEC_FEED_H_

// What a running command is sent: its stdin, the end of it, signals. Thread-safe.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::sandbox {

// Of stdin, that the command has not read.
inline constexpr size_t kMaxFedBytes = 1024 * 1024;

class ExecFeed final {
 public:
  // RESOURCE_EXHAUSTED: too much waits already. FAILED_PRECONDITION: stdin is closed.
  Status Write(std::string_view bytes);
  void CloseStdin();
  // To the command's process group, before what waits of stdin.
  void Signal(int signal);

  // The next message. Blocks until there is one; nothing after End.
  std::optional<supervisor::v1::ExecRequest> Take();
  // The command has ended: nothing is sent any more.
  void End();

 private:
  void Push(supervisor::v1::ExecRequest message);

  std::mutex mutex_;
  std::condition_variable more_;
  // All below: guarded by mutex_.
  std::deque<supervisor::v1::ExecRequest> messages_;
  size_t waiting_bytes_ = 0;
  bool closed_ = false;
  bool ended_ = false;
};

}  // namespace odyssey::sandbox

#endif  // ODYSSEY_AGENTD_SANDBOX_EXEC_FEED_H_
