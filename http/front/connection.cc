#include "http/front/connection.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>
#include <utility>

#include "common/base/utf8.h"
#include "http/head/access.h"
#include "http/head/request_target.h"
#include "http/shape/error_body.h"

namespace odyssey::front {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Error = boost::system::error_code;
using Parser = http::request_parser<http::string_body>;

// Of a request that comes before the answer to the one before is written.
constexpr size_t kMaxPipelinedBytes = 16 * 1024;
constexpr size_t kReadBytes = 4096;
constexpr std::chrono::seconds kLinger{2};
constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";

constexpr unsigned kBadRequest = 400, kNotAllowed = 405, kTimeout = 408, kTooLarge = 413,
                   kUnsupportedType = 415, kHeaderTooLarge = 431, kBusy = 503;

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

// Of every answer. No field of CORS: pages of other sites read nothing.
constexpr std::string_view kCommonFields =
    "Cache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'self'; frame-ancestors 'none'\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n";

std::string HeadOf(unsigned status, std::string_view content_type, const Fields& fields) {
  std::string out = "HTTP/1.1 " + std::to_string(status) + " ";
  out += View(http::obsolete_reason(static_cast<http::status>(status)));
  out += "\r\n";
  out += kCommonFields;
  if (!content_type.empty()) out.append("Content-Type: ").append(content_type).append("\r\n");
  for (const auto& [name, value] : fields) out += name + ": " + value + "\r\n";
  return out;
}

std::string ChunkOf(std::string_view bytes) {
  char size[2 * sizeof(size_t) + 1];
  std::snprintf(size, sizeof(size), "%zx", bytes.size());
  std::string out(size);
  return out.append("\r\n").append(bytes).append("\r\n");
}

McpFields McpFieldsOf(const http::fields& fields) {
  // A proxy may have decided by another one of two: they are as a field with a wrong value.
  const auto one = [&fields](const char* name) -> std::string {
    return fields.count(name) > 1 ? "(more than one)" : std::string(View(fields[name]));
  };
  return {.session_id = one("Mcp-Session-Id"),
          .version = one("MCP-Protocol-Version"),
          .method = one("Mcp-Method"),
          .name = one("Mcp-Name"),
          .takes_events = View(fields[http::field::accept]).find("text/event-stream") !=
                          std::string_view::npos};
}

// What a request is refused with before its body is read.
struct Refusal {
  unsigned status = 0;
  Status why;
  Fields fields = {};
};

class Connection final : public Responder, public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Shared* shared)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), shared_(shared) {
    shared_->connections.insert(this);
  }
  ~Connection() override {
    Discharge();
    shared_->connections.erase(this);
  }

  void Start() {
    Error ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    ReadHead();
  }

  void Close() {
    exchange_.reset();
    Disarm();
    Error ignored;
    socket_.close(ignored);
  }

  void Reply(unsigned status, std::string_view content_type, std::string body,
             const Fields& fields) override {
    if (ended_) return;
    queued_ += HeadOf(status, content_type, fields);
    if (status != static_cast<unsigned>(http::status::no_content)) {
      queued_ += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    }
    queued_ += keep_alive_ ? "\r\n" : "Connection: close\r\n\r\n";
    queued_ += body;
    ended_ = true;
    Flush();
  }

  void BeginStream(std::string_view content_type, const Fields& fields) override {
    chunked_ = is_1_1_;
    keep_alive_ = keep_alive_ && chunked_;
    queued_ += HeadOf(static_cast<unsigned>(http::status::ok), content_type, fields);
    if (chunked_) queued_ += "Transfer-Encoding: chunked\r\n";
    queued_ += keep_alive_ ? "\r\n" : "Connection: close\r\n\r\n";
    Flush();
  }
  void Write(std::string_view bytes) override {
    if (bytes.empty() || ended_) return;
    queued_ += chunked_ ? ChunkOf(bytes) : std::string(bytes);
    Flush();
  }
  size_t pending_bytes() const override { return writing_.size() - written_ + queued_.size(); }
  void EndStream() override {
    if (ended_) return;
    if (chunked_) queued_ += "0\r\n\r\n";
    ended_ = true;
    Flush();
  }
  void AbortStream() override {
    keep_alive_ = false;
    ended_ = true;
    Flush();
  }

 private:
  // ── reading ──

  void ReadHead() {
    parser_.emplace();
    parser_->header_limit(shared_->limits.header_bytes);
    // Refuse bounds it, with an answer.
    parser_->body_limit(std::numeric_limits<uint64_t>::max());
    ended_ = timed_out_ = chunked_ = false;
    keep_alive_ = false;
    is_1_1_ = true;
    Arm(std::chrono::seconds(shared_->limits.header_seconds), &Connection::StopReading);
    http::async_read_header(
        socket_, buffer_, *parser_,
        [self = shared_from_this()](Error error, size_t) { self->OnHead(error); });
  }

  void StopReading() {
    timed_out_ = true;
    Error ignored;
    socket_.cancel(ignored);
  }

  // What is wrong with bytes that were read; nothing: the connection is of no use any more.
  std::optional<Refusal> RefusalOf(const Error& error) const {
    if (timed_out_) {
      return Refusal{kTimeout, {Code::kDeadlineExceeded, "request: it did not come in time"}};
    }
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      return Refusal{kHeaderTooLarge,
                     ResourceExhausted("request header: at most " +
                                       std::to_string(shared_->limits.header_bytes) + " bytes")};
    }
    if (error == http::error::body_limit) return TooLarge();
    // The other errors of the parser; end_of_stream and partial_message: the client has gone.
    if (error.category() != http::make_error_code(http::error::bad_method).category() ||
        error == http::error::end_of_stream || error == http::error::partial_message) {
      return std::nullopt;
    }
    return Refusal{kBadRequest, InvalidArgument("request: " + error.message())};
  }

  Refusal TooLarge() const {
    return {kTooLarge, ResourceExhausted("body: at most " +
                                         std::to_string(shared_->limits.body_bytes) + " bytes")};
  }

  void OnHead(const Error& error) {
    if (!socket_.is_open()) return;
    if (error) {
      const bool nothing_came = timed_out_ && buffer_.size() == 0 && !parser_->got_some();
      const std::optional<Refusal> refusal = RefusalOf(error);
      return refusal && !nothing_came ? Refuse(*refusal) : Close();
    }
    const auto& head = parser_->get();
    is_1_1_ = head.version() == 11;
    if (const std::optional<Refusal> refusal = Check()) return Refuse(*refusal);
    keep_alive_ = head.keep_alive();
    parser_->body_limit(shared_->limits.body_bytes);
    if (head[http::field::expect] != "100-continue" || parser_->is_done()) return ReadBody();
    asio::async_write(socket_, asio::buffer(kContinue, sizeof(kContinue) - 1),
                      [self = shared_from_this()](Error failed, size_t) {
                        failed ? self->Close() : self->ReadBody();
                      });
  }

  // Fills request_.
  std::optional<Refusal> Check() {
    const auto& head = parser_->get();
    const head::AccessFields fields = {
        .host = View(head[http::field::host]),
        .origin = View(head[http::field::origin]),
        .authorization = View(head[http::field::authorization]),
        .cookie = View(head[http::field::cookie]),
        .hosts = head.count(http::field::host),
        .changes = head.method() != http::verb::get && head.method() != http::verb::head};
    if (const Status may = head::CheckHostAndOrigin(fields, shared_->names); !may.ok()) {
      return Refusal{shape::HttpStatusOf(may.code()), may};
    }
    request_ = {};
    if (std::optional<Refusal> refusal = FindRoute()) return refusal;
    request_.last_event_id = std::string(View(head["Last-Event-ID"]));
    if (request_.route->act == api::Act::kMcp) request_.mcp = McpFieldsOf(head);
    if (!request_.route->is_open) {
      Result<head::Credential> credential = head::FindCredential(fields);
      if (!credential.ok()) {
        const Status& status = credential.status();
        return Refusal{shape::HttpStatusOf(status.code()), status};
      }
      request_.token = std::move(credential->token);
    }
    return CheckBody();
  }

  std::optional<Refusal> FindRoute() {
    const auto& head = parser_->get();
    Result<head::RequestTarget> target = head::ParseTarget(View(head.target()));
    if (!target.ok()) return Refusal{kBadRequest, target.status()};
    api::Match match = api::FindRoute(View(head.method_string()), target->segments);
    const std::string named = SanitizeUtf8(View(head.target()).substr(0, head.target().find('?')));
    if (match.route == nullptr && match.allowed.empty()) {
      return Refusal{404, NotFound(named + ": no such route; /openapi.json has them")};
    }
    if (match.route == nullptr) {
      std::string allowed;
      for (const std::string& each : match.allowed) allowed += (allowed.empty() ? "" : ", ") + each;
      return Refusal{
          kNotAllowed,
          {Code::kUnimplemented, named + ": " + SanitizeUtf8(View(head.method_string())) +
                                     " is not one of its methods, which are " + allowed},
          {{"Allow", allowed}}};
    }
    request_.route = match.route;
    request_.of_path = std::move(match.of_path);
    request_.query = std::move(target->query);
    return std::nullopt;
  }

  std::optional<Refusal> CheckBody() {
    const auto& head = parser_->get();
    const auto length = parser_->content_length();
    const bool has_body = parser_->chunked() || (length && *length > 0);
    if (!has_body) return std::nullopt;
    const bool file = request_.route->act == api::Act::kImport;
    const std::string_view wanted = file ? "application/octet-stream" : "application/json";
    const std::string_view type = View(head[http::field::content_type]);
    if (type.substr(0, type.find_first_of("; ")) != wanted) {
      return Refusal{kUnsupportedType,
                     InvalidArgument("Content-Type: must be " + std::string(wanted) +
                                     (file ? ", and the body the file itself: no file of this host "
                                             "is read for a client"
                                           : ""))};
    }
    if (length && *length > shared_->limits.body_bytes) return TooLarge();
    const uint64_t most = length ? *length : shared_->limits.body_bytes;
    if (shared_->bodies_bytes + most > shared_->limits.bodies_bytes) {
      return Refusal{kBusy,
                     Unavailable("body: too many others are being sent; try again"),
                     {{"Retry-After", "1"}}};
    }
    charged_ = most;
    shared_->bodies_bytes += most;
    return std::nullopt;
  }

  void Discharge() { shared_->bodies_bytes -= std::exchange(charged_, 0); }

  void ReadBody() {
    if (!socket_.is_open()) return;
    Arm(std::chrono::seconds(shared_->limits.body_seconds), &Connection::StopReading);
    http::async_read(socket_, buffer_, *parser_,
                     [self = shared_from_this()](Error error, size_t) { self->OnBody(error); });
  }

  void OnBody(const Error& error) {
    if (!socket_.is_open()) return;
    if (error) {
      const std::optional<Refusal> refusal = RefusalOf(error);
      return refusal ? Refuse(*refusal) : Close();
    }
    Disarm();
    request_.body = std::move(parser_->get().body());
    parser_.reset();
    exchange_ = NewExchange(std::move(request_), &shared_->backend, this);
    Monitor();
    const std::shared_ptr<Exchange> exchange = exchange_;
    exchange->Start();
  }

  // While a request is answered: a client that goes ends it. What it sends is kept, to a bound.
  void Monitor() {
    if (buffer_.size() >= kMaxPipelinedBytes) return;
    monitoring_ = true;
    socket_.async_read_some(
        buffer_.prepare(kReadBytes),
        [self = shared_from_this()](Error error, size_t size) { self->OnMonitored(error, size); });
  }

  void OnMonitored(const Error& error, size_t size) {
    monitoring_ = false;
    if (!socket_.is_open()) return;
    buffer_.commit(size);
    if (draining_) return error ? Close() : Drain();
    if (std::exchange(goes_on_, false)) {
      return error && error != asio::error::operation_aborted ? Close() : NextRequest();
    }
    error ? Close() : Monitor();
  }

  // ── writing ──

  void Refuse(const Refusal& refusal) {
    keep_alive_ = false;
    Fields fields = refusal.fields;
    if (refusal.status == 401) fields.emplace_back("WWW-Authenticate", "Bearer realm=\"odyssey\"");
    Reply(refusal.status, "application/json", shape::ErrorBody(refusal.why), fields);
  }

  void Flush() {
    if (in_flight_) return;
    in_flight_ = true;
    // Later: the exchange is still at work, and may have more to write.
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->WriteSome(); });
  }

  void WriteSome() {
    if (!socket_.is_open()) return;
    if (written_ == writing_.size()) {
      writing_.clear();
      written_ = 0;
      if (writing_.capacity() > kMaxPendingBytes) writing_.shrink_to_fit();
      std::swap(writing_, queued_);
    }
    if (writing_.empty()) {
      in_flight_ = false;
      return OnWritten();
    }
    Arm(std::chrono::seconds(shared_->limits.stalled_seconds), &Connection::Close);
    socket_.async_write_some(asio::buffer(writing_.data() + written_, writing_.size() - written_),
                             [self = shared_from_this()](Error error, size_t size) {
                               if (error) return self->Close();
                               self->Disarm();
                               self->written_ += size;
                               self->WriteSome();
                             });
  }

  void OnWritten() {
    if (ended_) return Finish();
    if (const std::shared_ptr<Exchange> exchange = exchange_) exchange->OnWritable();
  }

  void Finish() {
    exchange_.reset();
    Discharge();
    if (!keep_alive_) {
      // Without reading what a refused client still sends, its kernel would drop the answer.
      Error ignored;
      socket_.shutdown(tcp::socket::shutdown_send, ignored);
      Arm(kLinger, &Connection::Close);
      draining_ = true;
      if (!monitoring_) Drain();
      return;
    }
    if (!monitoring_) return NextRequest();
    goes_on_ = true;
    Error ignored;
    socket_.cancel(ignored);
  }

  void Drain() {
    buffer_.clear();
    monitoring_ = true;
    socket_.async_read_some(
        buffer_.prepare(kReadBytes),
        [self = shared_from_this()](Error error, size_t size) { self->OnMonitored(error, size); });
  }

  void NextRequest() {
    if (buffer_.size() > 0) return ReadHead();
    buffer_.shrink_to_fit();
    Arm(std::chrono::seconds(shared_->limits.idle_seconds), &Connection::Close);
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](Error error) {
      if (!error && self->socket_.is_open()) self->ReadHead();
    });
  }

  // One time limit at a time.
  void Arm(std::chrono::seconds after, void (Connection::*then)()) {
    timer_.expires_after(after);
    timer_.async_wait([weak = weak_from_this(), then, of = ++armed_](Error error) {
      const std::shared_ptr<Connection> self = weak.lock();
      if (!error && self && self->armed_ == of) (self.get()->*then)();
    });
  }
  // One whose end is in the loop's queue already counts no longer.
  void Disarm() {
    ++armed_;
    timer_.cancel();
  }

  tcp::socket socket_;
  asio::steady_timer timer_;
  Shared* const shared_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  Request request_;
  std::shared_ptr<Exchange> exchange_;
  uint64_t charged_ = 0, armed_ = 0;
  std::string writing_, queued_;
  size_t written_ = 0;  // of writing_
  bool in_flight_ = false, ended_ = false;
  bool is_1_1_ = true, keep_alive_ = false, chunked_ = false;
  bool timed_out_ = false, monitoring_ = false, draining_ = false;
  bool goes_on_ = false;  // the next request follows once monitoring has stopped
};

}  // namespace

void Serve(tcp::socket socket, Shared* shared) {
  std::make_shared<Connection>(std::move(socket), shared)->Start();
}

void CloseAll(Shared* shared) {
  std::vector<std::shared_ptr<Connection>> open;
  for (Responder* const each : shared->connections) {
    open.push_back(static_cast<Connection*>(each)->shared_from_this());
  }
  for (const auto& each : open) each->Close();
}

}  // namespace odyssey::front
