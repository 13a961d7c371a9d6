#ifndef ODYSSEY_COMMON_RPC_H2_CHANNEL_H_
#define ODYSSEY_COMMON_RPC_H2_CHANNEL_H_

// A client's connection to a daemon's Unix socket, over which calls go as gRPC has them on the wire
// (h2_call.h), with libnghttp2 and without gRPC's library: a process that makes two calls has no
// time to load 50 libraries and to start threads. No threads, no callbacks: what came is there
// after Pump(). Of one thread at a time.

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

struct nghttp2_session;

namespace odyssey::rpc {

class H2Call;
struct CallOptions;

// Of one message, either way: twice what the supervisor takes.
inline constexpr uint32_t kMaxMessageBytes = 32 * 1024 * 1024;

class H2Channel final {
 public:
  using Clock = std::chrono::steady_clock;

  // Bounds the time until the server's first frame: what listens there may be no gRPC server.
  static constexpr std::chrono::milliseconds kConnectWithin = std::chrono::seconds(10);

  // Of each call, what the server sends before messages are received; a larger message comes whole.
  static constexpr int32_t kStreamWindowBytes = 8 * 1024 * 1024;

  explicit H2Channel(std::string socket_path,
                     std::chrono::milliseconds connect_within = kConnectWithin,
                     int32_t stream_window_bytes = kStreamWindowBytes);
  // Every call of it has been destroyed.
  ~H2Channel();
  H2Channel(const H2Channel&) = delete;
  H2Channel& operator=(const H2Channel&) = delete;

  // Connects, unless it is connected. A failure has its errno in its detail.
  Status Open();

  // Sends what can be without waiting, and says what a poll loop waits for, for how long (-1:
  // without end). After poll: Pump().
  pollfd Polled();
  int timeout_ms() const;
  // Another number for each connection: the descriptor of a lost one may be that of the next.
  uint64_t connection() const { return connection_; }
  // Receives and sends what can be without waiting, and ends calls whose deadline is over.
  void Pump();

 private:
  friend class H2Call;
  struct Callbacks;

  // Of H2Call. 0: there is no connection to be had.
  int32_t Start(H2Call* call, const CallOptions& options);
  void Reset(int32_t stream_id);
  void Credit(int32_t stream_id, size_t bytes);
  void Resume(int32_t stream_id);

  bool IsUsable() const;
  void Configure();
  void Receive();
  void Flush();
  void ExpireCalls();
  // Ends every call with UNAVAILABLE and closes the connection.
  void Lose();
  // Takes the call off the connection, with the code with which its stream was closed.
  void Conclude(int32_t stream_id, uint32_t error);

  const std::string socket_path_;
  const std::chrono::milliseconds connect_within_;
  const int32_t stream_window_bytes_;
  UniqueFd fd_;
  nghttp2_session* session_ = nullptr;
  std::string out_;  // frames that wait for the socket
  std::map<int32_t, H2Call*> calls_;
  std::optional<Clock::time_point> settings_by_;  // until the server's first frame is here
  bool going_away_ = false;                       // it takes no new calls
  uint64_t connection_ = 0;
};

}  // namespace odyssey::rpc

#endif  // ODYSSEY_COMMON_RPC_H2_CHANNEL_H_
