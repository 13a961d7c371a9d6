#ifndef ODYSSEY_SUPERVISOR_EGRESS_H2_SESSION_H_
#define ODYSSEY_SUPERVISOR_EGRESS_H2_SESSION_H_

// One connection of HTTP/2, without its socket: bytes of the peer become events, and what is to be
// said becomes bytes. For one thread.

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/egress/h2/event.h"
#include "supervisor/egress/h2/flood.h"

struct nghttp2_session;

namespace odyssey::egress::h2 {

// Towards the client we are the server.
enum class Side { kServer, kClient };

// Whether the fields of a head may enter the tables of HPACK, where they stay for later heads.
// kNever is for heads with secrets (RFC 7541 section 7.1).
enum class Indexing { kAllowed, kNever };

inline constexpr uint32_t kMaxStreams = 100;
// What a peer may send before it is taken: on one stream, and on all of them.
inline constexpr int32_t kStreamWindow = 256 * 1024;
inline constexpr int32_t kConnectionWindow = 4 * 1024 * 1024;

class Session final {
 public:
  using Time = FloodGuard::Time;
  explicit Session(Side side);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void Receive(std::string_view bytes, Time now);
  // Since the last call.
  std::vector<Event> TakeEvents();
  // Frames for the peer, some 64 KiB at most; "": there are none now. What it takes from streams is
  // an event.
  std::string TakeOutput();
  // Nothing is to be read any more, and nothing to be sent but what TakeOutput has.
  bool over() const;
  // Why we ended the connection; "" if we did not.
  const std::string& violation() const { return violation_; }
  // The peer takes no new streams, or we do not.
  bool going_away() const { return going_away_ || peer_going_away_; }
  size_t streams() const { return streams_.size(); }

  // As a client. 0: the peer takes no new streams.
  StreamId Request(const http::Fields& fields, bool ended, Indexing indexing);
  // As a server: a response, and 100 before one.
  void Respond(StreamId stream, const http::Fields& fields, bool ended);
  void Continue(StreamId stream);

  // All of these leave a stream alone that is closed, or ended.
  void Send(StreamId stream, std::string_view bytes);
  void End(StreamId stream, http::Fields trailers);
  // At once: what was not sent is dropped.
  void Reset(StreamId stream, ErrorCode code);
  // When our side has ended, the peer's is not waited for.
  void ResetOnceEnded(StreamId stream);
  // So many bytes of kData were taken: the peer may send as many again.
  void Credit(StreamId stream, size_t bytes);

  // Streams that are open go on, no others begin; the connection is over after them.
  void GoAway();

 private:
  struct Callbacks;
  struct Stream {
    // Of the head that is being received.
    http::Fields fields;
    size_t field_bytes = 0;
    bool too_large = false;
    http::Asked asked;       // as a client
    bool began = false;      // its head was an event
    bool explained = false;  // why it is reset is known
    size_t uncredited = 0;
    // What is to be sent, from `sent` on.
    std::string out;
    size_t sent = 0;
    bool ended = false, end_sent = false, reset_once_ended = false;
    http::Fields trailers;
  };

  Stream* Find(StreamId stream);
  Event* Add(Event::Kind kind, StreamId stream);
  // Says once why a stream is reset.
  void Explain(StreamId stream, std::string reason);
  void Reject(StreamId stream, std::string reason);
  void OnFrame(uint8_t type, bool empty);
  void OnHead(StreamId stream, bool ended);
  void OnTrailers(StreamId stream, const http::Fields& fields);
  void OnRequest(StreamId stream, const http::Fields& fields, bool ended);
  void OnResponse(StreamId stream, Stream* found, const http::Fields& fields, bool ended);
  void OnClosed(StreamId stream, uint32_t code);
  // Ends the connection with GOAWAY.
  void Violate(ErrorCode code, std::string reason);

  const Side side_;
  nghttp2_session* session_ = nullptr;
  std::map<StreamId, Stream> streams_;
  std::vector<Event> events_;
  FloodGuard guard_;
  Time now_;
  std::string violation_;
  bool failed_ = false;
  bool going_away_ = false, peer_going_away_ = false;
};

}  // namespace odyssey::egress::h2

#endif  // ODYSSEY_SUPERVISOR_EGRESS_H2_SESSION_H_
