#include "supervisor/egress/h2/session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "common/base/status.h"
#include "supervisor/egress/h2/head.h"
#include "supervisor/egress/http/head_scanner.h"

namespace odyssey::egress::h2 {
namespace {

constexpr size_t kOutputBytes = 64 * 1024;
constexpr size_t kFieldOverhead = 32;  // of a field in a head's size (RFC 9113 section 6.5.2)
// Of a head that is sent, as it is at most before compression.
constexpr size_t kMaxSentHeadBytes = 4 * http::kMaxHeadBytes;

uint8_t* Bytes(std::string_view text) {
  return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));  // libnghttp2 only reads them
}

std::vector<nghttp2_nv> PairsOf(const http::Fields& fields,
                                Indexing indexing = Indexing::kAllowed) {
  std::vector<nghttp2_nv> out;
  const auto flags = static_cast<uint8_t>(indexing == Indexing::kNever ? NGHTTP2_NV_FLAG_NO_INDEX
                                                                       : NGHTTP2_NV_FLAG_NONE);
  for (const http::Field& field : fields) {
    out.push_back(
        {Bytes(field.name), Bytes(field.value), field.name.size(), field.value.size(), flags});
  }
  return out;
}

std::string TextOf(nghttp2_rcbuf* buffer) {
  const nghttp2_vec bytes = nghttp2_rcbuf_get_buf(buffer);
  return {reinterpret_cast<const char*>(bytes.base), bytes.len};
}

bool EndsStream(const nghttp2_frame_hd& head) {
  return (head.type == NGHTTP2_HEADERS || head.type == NGHTTP2_DATA) &&
         (head.flags & NGHTTP2_FLAG_END_STREAM) != 0;
}

}  // namespace

// What libnghttp2 calls while it reads and makes frames.
struct Session::Callbacks {
  static Session& Self(void* user) { return *static_cast<Session*>(user); }

  static int OnBeginFrame(nghttp2_session*, const nghttp2_frame_hd* head, void* user) {
    const bool empty = head->length == 0 && !EndsStream(*head);
    Self(user).OnFrame(head->type, empty);
    return Self(user).violation_.empty() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) Self(user).streams_[frame->hd.stream_id];
    return 0;
  }

  // A head that is too large is read to its end, for the compression's state, and kept no more.
  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, nghttp2_rcbuf* name,
                      nghttp2_rcbuf* value, uint8_t, void* user) {
    Stream* const found = Self(user).Find(frame->hd.stream_id);
    if (found == nullptr) return 0;
    found->field_bytes +=
        nghttp2_rcbuf_get_buf(name).len + nghttp2_rcbuf_get_buf(value).len + kFieldOverhead;
    if (found->field_bytes > http::kMaxHeadBytes || found->fields.size() > http::kMaxFields) {
      found->too_large = true;
      found->fields.clear();
    }
    if (!found->too_large) found->fields.push_back({TextOf(name), TextOf(value)});
    return 0;
  }

  // It would be left out, and the request sent without.
  static int OnInvalidHeader(nghttp2_session*, const nghttp2_frame*, nghttp2_rcbuf*, nghttp2_rcbuf*,
                             uint8_t, void*) {
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int OnInvalidFrame(nghttp2_session*, const nghttp2_frame* frame, int error, void* user) {
    if (error == NGHTTP2_ERR_REFUSED_STREAM) return 0;  // one too many, which comes again
    Self(user).Explain(frame->hd.stream_id, nghttp2_strerror(error));
    return 0;
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Session& self = Self(user);
    const StreamId stream = frame->hd.stream_id;
    if (frame->hd.type == NGHTTP2_HEADERS) self.OnHead(stream, EndsStream(frame->hd));
    if (frame->hd.type == NGHTTP2_DATA && EndsStream(frame->hd)) self.Add(Kind::kEnd, stream);
    if (frame->hd.type == NGHTTP2_GOAWAY) self.peer_going_away_ = true;
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
      Stream* const found = self.Find(stream);
      if (found != nullptr) found->explained = true;
    }
    return 0;
  }

  static int OnData(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* data, size_t size,
                    void* user) {
    Session& self = Self(user);
    Stream* const found = self.Find(stream);
    if (found == nullptr) return 0;
    found->uncredited += size;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    auto& events = self.events_;
    const bool more =
        !events.empty() && events.back().kind == Kind::kData && events.back().stream == stream;
    (more ? &events.back() : self.Add(Kind::kData, stream))->bytes += bytes;
    return 0;
  }

  static int OnClose(nghttp2_session*, int32_t stream, uint32_t code, void* user) {
    Self(user).OnClosed(stream, code);
    return 0;
  }

  static int OnSent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Session& self = Self(user);
    if (frame->hd.type == NGHTTP2_DATA) self.guard_.SentData();
    const bool error =
        frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR;
    if (error) self.Violate(ErrorCode::kProtocolError, "a breach of HTTP/2");
    Stream* const found = EndsStream(frame->hd) ? self.Find(frame->hd.stream_id) : nullptr;
    if (found == nullptr) return 0;
    found->end_sent = true;
    const bool open = nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) == 0;
    if (found->reset_once_ended && open) self.Reset(frame->hd.stream_id, ErrorCode::kNoError);
    return 0;
  }

  static int OnNotSent(nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
    const bool request =
        frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
    if (request) Self(user).OnClosed(frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
    return 0;
  }

  static ssize_t ReadOut(nghttp2_session* session, int32_t stream, uint8_t* to, size_t size,
                         uint32_t* flags, nghttp2_data_source*, void* user) {
    Session& self = Self(user);
    Stream* const found = self.Find(stream);
    if (found == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const size_t left = found->out.size() - found->sent;
    const size_t taken = std::min(size, left);
    found->out.copy(reinterpret_cast<char*>(to), taken, found->sent);
    found->sent += taken;
    if (taken < left) return static_cast<ssize_t>(taken);
    found->out.clear();
    found->sent = 0;
    if (taken > 0) self.Add(Kind::kTaken, stream);
    if (!found->ended && taken == 0) return NGHTTP2_ERR_DEFERRED;
    if (!found->ended) return static_cast<ssize_t>(taken);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!found->trailers.empty()) {
      const std::vector<nghttp2_nv> pairs = PairsOf(found->trailers);
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      if (nghttp2_submit_trailer(session, stream, pairs.data(), pairs.size()) != 0) {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
      }
    }
    return static_cast<ssize_t>(taken);
  }

  static nghttp2_session_callbacks* Make() {
    nghttp2_session_callbacks* out = nullptr;
    ODY_CHECK(nghttp2_session_callbacks_new(&out) == 0);
    nghttp2_session_callbacks_set_on_begin_frame_callback(out, OnBeginFrame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(out, OnBeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback2(out, OnHeader);
    nghttp2_session_callbacks_set_on_invalid_header_callback2(out, OnInvalidHeader);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(out, OnInvalidFrame);
    nghttp2_session_callbacks_set_on_frame_recv_callback(out, OnFrame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(out, OnData);
    nghttp2_session_callbacks_set_on_stream_close_callback(out, OnClose);
    nghttp2_session_callbacks_set_on_frame_send_callback(out, OnSent);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(out, OnNotSent);
    return out;
  }

  using Kind = Event::Kind;
};

Session::Session(Side side) : side_(side) {
  nghttp2_session_callbacks* const callbacks = Callbacks::Make();
  nghttp2_option* option = nullptr;
  ODY_CHECK(nghttp2_option_new(&option) == 0);
  nghttp2_option_set_no_auto_window_update(option, 1);  // what is not taken holds the peer back
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_max_reserved_remote_streams(option, 0);
  nghttp2_option_set_peer_max_concurrent_streams(option, kMaxStreams);
  nghttp2_option_set_max_send_header_block_length(option, kMaxSentHeadBytes);
  const auto make =
      side == Side::kServer ? nghttp2_session_server_new2 : nghttp2_session_client_new2;
  ODY_CHECK(make(&session_, callbacks, this, option) == 0);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);

  std::vector<nghttp2_settings_entry> settings = {
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<uint32_t>(kStreamWindow)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(http::kMaxHeadBytes)}};
  if (side == Side::kServer) {
    settings.push_back({NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMaxStreams});
  } else {
    settings.push_back({NGHTTP2_SETTINGS_ENABLE_PUSH, 0});
  }
  ODY_CHECK(
      nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) == 0);
  ODY_CHECK(nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                                  kConnectionWindow) == 0);
}

Session::~Session() { nghttp2_session_del(session_); }

// ── What the peer does ──────────────────────────────────────────────────────────────────────────

void Session::Receive(std::string_view bytes, Time now) {
  now_ = now;
  if (failed_ || !violation_.empty()) return;
  const ssize_t taken = nghttp2_session_mem_recv(session_, Bytes(bytes), bytes.size());
  if (taken >= 0) return;
  failed_ = true;
  const bool flood = taken == NGHTTP2_ERR_FLOODED || taken == NGHTTP2_ERR_TOO_MANY_SETTINGS ||
                     taken == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS;
  Violate(flood ? ErrorCode::kEnhanceYourCalm : ErrorCode::kProtocolError,
          nghttp2_strerror(static_cast<int>(taken)));
}

std::vector<Event> Session::TakeEvents() { return std::exchange(events_, {}); }

bool Session::over() const {
  return nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
}

Session::Stream* Session::Find(StreamId stream) {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : &found->second;
}

Event* Session::Add(Event::Kind kind, StreamId stream) {
  Event& out = events_.emplace_back();
  out.kind = kind;
  out.stream = stream;
  return &out;
}

void Session::Violate(ErrorCode code, std::string reason) {
  if (!violation_.empty()) return;
  violation_ = std::move(reason);
  Add(Event::Kind::kRejected, 0)->error = {400, violation_};
  (void)nghttp2_session_terminate_session(session_, static_cast<uint32_t>(code));
}

void Session::OnFrame(uint8_t type, bool empty) {
  bool ok = true;
  switch (type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_CONTINUATION:
      break;
    case NGHTTP2_DATA:
      ok = !empty || guard_.TakeEmpty(now_);
      break;
    case NGHTTP2_WINDOW_UPDATE:
      ok = guard_.TakeWindowUpdate(now_);
      break;
    case NGHTTP2_RST_STREAM:
      ok = guard_.TakeReset(now_);
      break;
    default:
      ok = guard_.TakeEmpty(now_);
  }
  if (!ok) Violate(ErrorCode::kEnhanceYourCalm, "a flood of frames that carry nothing");
}

void Session::Explain(StreamId stream, std::string reason) {
  Stream* const found = Find(stream);
  if (found == nullptr || std::exchange(found->explained, true)) return;
  Add(Event::Kind::kRejected, stream)->error = {400, std::move(reason)};
  if (!guard_.TakeReset(now_)) {
    Violate(ErrorCode::kEnhanceYourCalm, "a flood of malformed streams");
  }
}

void Session::Reject(StreamId stream, std::string reason) {
  Explain(stream, std::move(reason));
  (void)nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_PROTOCOL_ERROR);
}

void Session::OnHead(StreamId stream, bool ended) {
  Stream* const found = Find(stream);
  if (found == nullptr) return;
  const http::Fields fields = std::exchange(found->fields, {});
  const bool too_large = std::exchange(found->too_large, false);
  found->field_bytes = 0;
  if (too_large && (found->began || side_ == Side::kClient)) {
    return Reject(stream, "a head of more than 64 KiB or 100 fields");
  }
  if (found->began) return OnTrailers(stream, fields);
  if (side_ == Side::kClient) return OnResponse(stream, found, fields, ended);
  found->began = true;
  if (!too_large) return OnRequest(stream, fields, ended);
  Event* const event = Add(Event::Kind::kUnreadable, stream);
  event->error = {431, "a head of more than 64 KiB or 100 fields"};
  event->ended = ended;
}

void Session::OnRequest(StreamId stream, const http::Fields& fields, bool ended) {
  auto read = ReadRequest(fields, ended);
  if (auto* malformed = std::get_if<Malformed>(&read)) {
    return Reject(stream, std::move(malformed->reason));
  }
  auto* const error = std::get_if<http::ParseError>(&read);
  Event* const event =
      Add(error == nullptr ? Event::Kind::kRequest : Event::Kind::kUnreadable, stream);
  event->ended = ended;
  if (error != nullptr) event->error = std::move(*error);
  if (error == nullptr) event->request = std::move(std::get<http::RequestHead>(read));
}

void Session::OnResponse(StreamId stream, Stream* found, const http::Fields& fields, bool ended) {
  auto read = ReadResponse(fields, ended, found->asked);
  if (auto* malformed = std::get_if<Malformed>(&read)) {
    return Reject(stream, std::move(malformed->reason));
  }
  auto& head = std::get<http::ResponseHead>(read);
  if (head.status < 200) {
    ++found->asked.informational;
    return;
  }
  found->began = true;
  Event* const event = Add(Event::Kind::kResponse, stream);
  event->ended = ended;
  event->response = std::move(head);
}

void Session::OnTrailers(StreamId stream, const http::Fields& fields) {
  auto read = ReadTrailers(fields);
  if (auto* malformed = std::get_if<Malformed>(&read)) {
    return Reject(stream, std::move(malformed->reason));
  }
  Add(Event::Kind::kEnd, stream)->trailers = std::move(std::get<http::Fields>(read));
}

void Session::OnClosed(StreamId stream, uint32_t code) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  // What no head and no trailers were wrong with: libnghttp2 compares DATA with Content-Length.
  if (code == NGHTTP2_PROTOCOL_ERROR) {
    Explain(stream, "the body is not as long as Content-Length says");
  }
  (void)nghttp2_session_consume_connection(session_, found->second.uncredited);
  streams_.erase(found);
  Add(Event::Kind::kClosed, stream)->code = static_cast<ErrorCode>(code);
}

// ── What we do ──────────────────────────────────────────────────────────────────────────────────

std::string Session::TakeOutput() {
  std::string out;
  while (out.size() < kOutputBytes) {
    const uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
    if (size <= 0) break;
    out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  }
  return out;
}

StreamId Session::Request(const http::Fields& fields, bool ended, Indexing indexing) {
  if (going_away() || !violation_.empty()) return 0;
  const std::vector<nghttp2_nv> pairs = PairsOf(fields, indexing);
  nghttp2_data_provider body = {{.ptr = nullptr}, Callbacks::ReadOut};
  const StreamId stream = nghttp2_submit_request(session_, nullptr, pairs.data(), pairs.size(),
                                                 ended ? nullptr : &body, nullptr);
  if (stream <= 0) return 0;
  Stream& added = streams_[stream];
  added.ended = ended;
  const http::Field* const method = http::FindField(fields, ":method");
  if (method != nullptr) added.asked.method = method->value;
  return stream;
}

void Session::Respond(StreamId stream, const http::Fields& fields, bool ended) {
  Stream* const found = Find(stream);
  if (found == nullptr || found->ended) return;
  const std::vector<nghttp2_nv> pairs = PairsOf(fields);
  nghttp2_data_provider body = {{.ptr = nullptr}, Callbacks::ReadOut};
  found->ended = ended;
  (void)nghttp2_submit_response(session_, stream, pairs.data(), pairs.size(),
                                ended ? nullptr : &body);
}

void Session::Continue(StreamId stream) {
  if (Find(stream) == nullptr) return;
  const http::Fields fields = {{":status", "100"}};
  const std::vector<nghttp2_nv> pairs = PairsOf(fields);
  (void)nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream, nullptr, pairs.data(),
                               pairs.size(), nullptr);
}

void Session::Send(StreamId stream, std::string_view bytes) {
  Stream* const found = Find(stream);
  if (found == nullptr || found->ended || bytes.empty()) return;
  found->out += bytes;
  (void)nghttp2_session_resume_data(session_, stream);
}

void Session::End(StreamId stream, http::Fields trailers) {
  Stream* const found = Find(stream);
  if (found == nullptr || found->ended) return;
  found->ended = true;
  found->trailers = std::move(trailers);
  (void)nghttp2_session_resume_data(session_, stream);
}

void Session::Reset(StreamId stream, ErrorCode code) {
  Stream* const found = Find(stream);
  if (found == nullptr) return;
  found->explained = true;
  found->ended = true;
  (void)nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, static_cast<uint32_t>(code));
}

void Session::ResetOnceEnded(StreamId stream) {
  Stream* const found = Find(stream);
  if (found == nullptr) return;
  found->reset_once_ended = true;
  if (found->end_sent) Reset(stream, ErrorCode::kNoError);
}

void Session::Credit(StreamId stream, size_t bytes) {
  Stream* const found = Find(stream);
  if (found == nullptr) return;
  bytes = std::min(bytes, found->uncredited);
  found->uncredited -= bytes;
  (void)nghttp2_session_consume(session_, stream, bytes);
}

void Session::GoAway() {
  if (std::exchange(going_away_, true)) return;
  const int32_t last = nghttp2_session_get_last_proc_stream_id(session_);
  (void)nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0);
}

}  // namespace odyssey::egress::h2
