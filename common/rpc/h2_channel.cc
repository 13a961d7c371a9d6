#include "common/rpc/h2_channel.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/os/unix_connect.h"
#include "common/rpc/h2_call.h"

namespace odyssey::rpc {
namespace {

// How far a stream may run ahead of its reader: enough to keep the pipe full between two reads.
constexpr uint32_t kFrameBytes = 1024 * 1024;
constexpr size_t kOutBytes = 256 * 1024;
constexpr size_t kInBytes = 64 * 1024;
constexpr int32_t kUnboundedWindow = INT32_MAX;  // each stream has a window of its own

nghttp2_nv Header(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

std::string_view View(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

// What libnghttp2 calls while it parses and makes frames.
struct H2Channel::Callbacks {
  static H2Channel& Channel(void* user) { return *static_cast<H2Channel*>(user); }

  static H2Call* Find(void* user, int32_t stream_id) {
    const auto& calls = Channel(user).calls_;
    const auto found = calls.find(stream_id);
    return found == calls.end() ? nullptr : found->second;
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* user) {
    H2Call* const call = Find(user, frame->hd.stream_id);
    if (call != nullptr) call->OnHeader(View(name, name_size), View(value, value_size));
    return 0;
  }

  static int OnData(nghttp2_session* session, uint8_t, int32_t stream_id, const uint8_t* data,
                    size_t size, void* user) {
    nghttp2_session_consume_connection(session, size);
    H2Call* const call = Find(user, stream_id);
    if (call != nullptr) call->OnData(View(data, size));
    return 0;
  }

  static int OnFrame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    H2Channel& channel = Channel(user);
    channel.settings_by_.reset();
    if (frame->hd.type == NGHTTP2_GOAWAY) channel.going_away_ = true;
    const bool of_call = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!of_call || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    // A server may end a call whose client has not closed its side.
    H2Call* const call = Find(user, frame->hd.stream_id);
    if (call != nullptr && (!call->send_closed_ || !call->outbox_.empty())) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    }
    channel.Conclude(frame->hd.stream_id, NGHTTP2_NO_ERROR);
    return 0;
  }

  static int OnClose(nghttp2_session*, int32_t stream_id, uint32_t error, void* user) {
    Channel(user).Conclude(stream_id, error);
    return 0;
  }

  static int OnNotSent(nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
    if (frame->hd.type == NGHTTP2_HEADERS) {
      Channel(user).Conclude(frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
    }
    return 0;
  }

  static ssize_t ReadOutbox(nghttp2_session*, int32_t stream_id, uint8_t* to, size_t size,
                            uint32_t* flags, nghttp2_data_source*, void* user) {
    H2Call* const call = Find(user, stream_id);
    if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const size_t taken = call->Take(reinterpret_cast<char*>(to), size);
    const bool empty = call->outbox_.empty();
    if (empty && call->send_closed_) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (empty && !call->send_closed_ && taken == 0) return NGHTTP2_ERR_DEFERRED;
    return static_cast<ssize_t>(taken);
  }
};

H2Channel::H2Channel(std::string socket_path, std::chrono::milliseconds connect_within,
                     int32_t stream_window_bytes)
    : socket_path_(std::move(socket_path)),
      connect_within_(connect_within),
      stream_window_bytes_(stream_window_bytes) {}

H2Channel::~H2Channel() {
  ODY_CHECK(calls_.empty());
  nghttp2_session_del(session_);
}

bool H2Channel::IsUsable() const { return session_ != nullptr && !going_away_; }

Status H2Channel::Open() {
  if (session_ != nullptr) Pump();  // it may have been lost meanwhile
  if (IsUsable()) return OkStatus();
  Lose();
  ODY_ASSIGN_OR_RETURN(fd_, ConnectUnix(socket_path_, SOCK_STREAM));
  Configure();
  return OkStatus();
}

void H2Channel::Configure() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* option = nullptr;
  ODY_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
  ODY_CHECK(nghttp2_option_new(&option) == 0);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::OnHeader);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::OnData);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::OnFrame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::OnClose);
  nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, Callbacks::OnNotSent);
  // A message that was not taken holds back the server.
  nghttp2_option_set_no_auto_window_update(option, 1);
  ODY_CHECK(nghttp2_session_client_new2(&session_, callbacks, this, option) == 0);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);

  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<uint32_t>(stream_window_bytes_)},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kFrameBytes}};
  ODY_CHECK(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings)) ==
            0);
  ODY_CHECK(
      nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kUnboundedWindow) == 0);
  going_away_ = false;
  ++connection_;
  settings_by_ = Clock::now() + connect_within_;
}

pollfd H2Channel::Polled() {
  Flush();
  return {fd_.get(), static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
}

int H2Channel::timeout_ms() const {
  std::optional<Clock::time_point> first = settings_by_;
  for (const auto& [id, call] : calls_) {
    if (call->deadline_ && (!first || *call->deadline_ < *first)) first = call->deadline_;
  }
  if (!first) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*first - Clock::now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

void H2Channel::Pump() {
  Receive();
  Flush();  // what receiving asked for, too: acknowledgements, window updates
  const bool over = session_ != nullptr && nghttp2_session_want_read(session_) == 0 &&
                    nghttp2_session_want_write(session_) == 0;
  if (over) Lose();
  ExpireCalls();
}

void H2Channel::Receive() {
  uint8_t bytes[kInBytes];
  while (session_ != nullptr) {
    const ssize_t n = recv(fd_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return Lose();
    if (nghttp2_session_mem_recv(session_, bytes, static_cast<size_t>(n)) != n) return Lose();
    if (static_cast<size_t>(n) < sizeof(bytes)) return;
  }
}

void H2Channel::Flush() {
  while (session_ != nullptr) {
    while (out_.size() < kOutBytes) {
      const uint8_t* frame = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &frame);
      if (size < 0) return Lose();
      if (size == 0) break;
      out_.append(View(frame, static_cast<size_t>(size)));
    }
    if (out_.empty()) return;
    const ssize_t n = send(fd_.get(), out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    // What the server said before it closed is still to be received.
    if (n < 0) return out_.clear();
    out_.erase(0, static_cast<size_t>(n));
  }
}

void H2Channel::ExpireCalls() {
  const Clock::time_point now = Clock::now();
  if (settings_by_ && *settings_by_ <= now) return Lose();
  std::vector<H2Call*> expired;
  for (const auto& [id, call] : calls_) {
    if (call->deadline_ && *call->deadline_ <= now) expired.push_back(call);
  }
  for (H2Call* const call : expired) {
    call->End({Code::kDeadlineExceeded, "the deadline of the call is over"});
  }
}

void H2Channel::Lose() {
  for (const auto& [id, call] : std::exchange(calls_, {})) call->OnLost();
  nghttp2_session_del(std::exchange(session_, nullptr));
  fd_.reset();
  out_.clear();
  settings_by_.reset();
}

void H2Channel::Conclude(int32_t stream_id, uint32_t error) {
  const auto found = calls_.find(stream_id);
  if (found == calls_.end()) return;
  H2Call* const call = found->second;
  calls_.erase(found);
  call->OnClosed(error);
}

int32_t H2Channel::Start(H2Call* call, const CallOptions& options) {
  // Calls under way stay with a server that is going away; a new one then has none.
  if (calls_.empty() ? !Open().ok() : !IsUsable()) return 0;
  std::vector<nghttp2_nv> headers = {
      Header(":method", "POST"),
      Header(":scheme", "http"),
      Header(":path", call->path_),
      Header(":authority", "localhost"),
      Header("te", "trailers"),
      Header("content-type", "application/grpc"),
      Header("user-agent", "odyssey-rpc"),
  };
  const std::string timeout = std::to_string(call->deadline_ms_) + "m";
  if (call->deadline_ms_ > 0) headers.push_back(Header("grpc-timeout", timeout));
  if (!options.authorization.empty()) {
    // Not kept in the header table of either end.
    headers.push_back(Header("authorization", options.authorization));
    headers.back().flags |= NGHTTP2_NV_FLAG_NO_INDEX;
  }
  nghttp2_data_provider outbox = {{.ptr = nullptr}, Callbacks::ReadOutbox};
  const int32_t id =
      nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(), &outbox, nullptr);
  if (id <= 0) return 0;
  calls_[id] = call;
  return id;
}

void H2Channel::Reset(int32_t stream_id) {
  if (calls_.erase(stream_id) == 0) return;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream_id, NGHTTP2_CANCEL);
}

void H2Channel::Credit(int32_t stream_id, size_t bytes) {
  if (calls_.count(stream_id) != 0) nghttp2_session_consume_stream(session_, stream_id, bytes);
}

void H2Channel::Resume(int32_t stream_id) {
  if (calls_.count(stream_id) != 0) nghttp2_session_resume_data(session_, stream_id);
}

}  // namespace odyssey::rpc
