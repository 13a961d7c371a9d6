#include "hub/server/hub_server.h"

#include <openssl/crypto.h>
#include <signal.h>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

namespace odyssey::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Response = http::response<http::string_body>;

struct Shared {
  HubDirectory directory;
  std::string token;
  Limits limits;
  int connections = 0;
  uint64_t bodies_bytes = 0;
};

http::status HttpOf(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return http::status::ok;
    case Code::kInvalidArgument:
      return http::status::bad_request;
    case Code::kNotFound:
      return http::status::not_found;
    case Code::kAlreadyExists:
      return http::status::conflict;
    case Code::kResourceExhausted:
      return http::status::payload_too_large;
    default:
      return http::status::internal_server_error;
  }
}

Response Text(http::status code, std::string body) {
  Response out(code, 11);
  out.set(http::field::content_type, "text/plain; charset=utf-8");
  out.body() = std::move(body);
  return out;
}

Response FromStatus(const Status& status) {
  // Paths of this host are not the client's.
  const bool own = HttpOf(status) == http::status::internal_server_error;
  return Text(HttpOf(status), own ? "the hub failed" : status.message());
}

Response Json(std::string body) {
  Response out(http::status::ok, 11);
  out.set(http::field::content_type, "application/json");
  out.body() = std::move(body);
  return out;
}

Response Answer(const HubDirectory& directory, beast::string_view target, const std::string& body) {
  if (target == artifact::kPublishPath) {
    const Result<artifact::Publish> publish = artifact::ReadPublish(body);
    if (!publish.ok()) return FromStatus(publish.status());
    const Status status = directory.Publish(*publish);
    return status.ok() ? Json("{}") : FromStatus(status);
  }
  const Result<artifact::Pull> pull = artifact::ReadPull(body);
  if (!pull.ok()) return FromStatus(pull.status());
  const Result<artifact::Pulled> pulled = directory.Pull(*pull);
  return pulled.ok() ? Json(artifact::WritePulled(*pulled)) : FromStatus(pulled.status());
}

bool HasToken(beast::string_view header, const std::string& token) {
  const std::string wanted = "Bearer " + token;
  return header.size() == wanted.size() &&
         CRYPTO_memcmp(header.data(), wanted.data(), wanted.size()) == 0;
}

// What a header alone is refused for, before its body is read.
std::optional<Response> Refuse(const http::request_parser<http::string_body>& parser,
                               const Shared& shared) {
  const auto& request = parser.get();
  const beast::string_view target = request.target();
  if (target != artifact::kPublishPath && target != artifact::kPullPath) {
    return Text(http::status::not_found, "no such route");
  }
  if (request.method() != http::verb::post) {
    return Text(http::status::method_not_allowed, "POST alone");
  }
  if (!shared.token.empty() && !HasToken(request[http::field::authorization], shared.token)) {
    return Text(http::status::unauthorized, "a token is needed");
  }
  // A page in a browser can send other types across origins without asking.
  if (request[http::field::content_type].substr(0, 16) != "application/json") {
    return Text(http::status::unsupported_media_type, "application/json alone");
  }
  const auto length = parser.content_length();
  if (!length) return Text(http::status::length_required, "Content-Length is needed");
  if (*length > shared.limits.body_bytes) {
    return Text(http::status::payload_too_large,
                "body exceeds maximum " + std::to_string(shared.limits.body_bytes) + " bytes");
  }
  if (shared.bodies_bytes + *length > shared.limits.bodies_bytes) {
    return Text(http::status::service_unavailable, "busy");
  }
  return std::nullopt;
}

// Owned by its pending operation.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Shared* shared) : stream_(std::move(socket)), shared_(shared) {
    ++shared_->connections;
    parser_.header_limit(shared_->limits.header_bytes);
    // Refuse bounds it, with an answer.
    parser_.body_limit(std::numeric_limits<uint64_t>::max());
  }
  ~Connection() {
    --shared_->connections;
    shared_->bodies_bytes -= charged_;
  }

  void Start() {
    stream_.expires_after(std::chrono::seconds(shared_->limits.header_seconds));
    http::async_read_header(stream_, buffer_, parser_,
                            [self = shared_from_this()](beast::error_code error, size_t) {
                              if (!error) self->OnHeader();
                            });
  }

 private:
  void Charge(uint64_t bytes) {
    charged_ += bytes;
    shared_->bodies_bytes += bytes;
  }

  void OnHeader() {
    if (auto refusal = Refuse(parser_, *shared_)) return Send(std::move(*refusal));
    Charge(*parser_.content_length());
    stream_.expires_after(std::chrono::seconds(shared_->limits.body_seconds));
    http::async_read(stream_, buffer_, parser_,
                     [self = shared_from_this()](beast::error_code error, size_t) {
                       if (!error) self->OnBody();
                     });
  }

  void OnBody() {
    const std::string target(parser_.get().target());
    Response response = Answer(shared_->directory, target, parser_.get().body());
    Charge(response.body().size());
    Send(std::move(response));
  }

  void Send(Response response) {
    response_ = std::move(response);
    response_.keep_alive(false);
    response_.prepare_payload();
    stream_.expires_after(std::chrono::seconds(shared_->limits.body_seconds));
    http::async_write(stream_, response_,
                      [self = shared_from_this()](beast::error_code, size_t) { self->Finish(); });
  }

  // Without reading what a refused client still sends, its kernel would drop the answer.
  void Finish() {
    beast::error_code error;
    stream_.socket().shutdown(tcp::socket::shutdown_send, error);
    stream_.expires_after(std::chrono::seconds(shared_->limits.header_seconds));
    Drain();
  }
  void Drain() {
    stream_.async_read_some(asio::buffer(drained_),
                            [self = shared_from_this()](beast::error_code error, size_t) {
                              if (!error) self->Drain();
                            });
  }

  beast::tcp_stream stream_;
  Shared* const shared_;
  beast::flat_buffer buffer_;
  http::request_parser<http::string_body> parser_;
  Response response_;
  uint64_t charged_ = 0;
  char drained_[4096];
};

}  // namespace

class HubServer::Impl {
 public:
  Impl(HubDirectory directory, std::string token, const Limits& limits)
      : shared_{std::move(directory), std::move(token), limits},
        acceptor_(context_),
        signals_(context_, SIGINT, SIGTERM) {}

  Status Listen(const Bind& bind) {
    beast::error_code error;
    const asio::ip::address address = asio::ip::make_address(bind.address, error);
    const tcp::endpoint endpoint(address, bind.port);
    if (!error) acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return ErrnoStatus(error.value(), "listen on " + bind.address);
    return OkStatus();
  }

  uint16_t port() const { return acceptor_.local_endpoint().port(); }

  void Serve() {
    signals_.async_wait([this](beast::error_code error, int) {
      if (!error) context_.stop();
    });
    Accept();
    context_.run();
  }
  void Stop() { context_.stop(); }

 private:
  void Accept() {
    acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
      if (!error && shared_.connections < shared_.limits.connections) {
        std::make_shared<Connection>(std::move(socket), &shared_)->Start();
      }
      if (error == asio::error::no_descriptors) {
        retry_.expires_after(std::chrono::seconds(1));
        return retry_.async_wait([this](beast::error_code) { Accept(); });
      }
      Accept();
    });
  }

  // First: connections that the context destroys report to it.
  Shared shared_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  asio::steady_timer retry_{context_};
};

Result<Bind> ParseBind(const std::string& text) {
  const size_t colon = text.rfind(':');
  std::string address = text.substr(0, std::min(colon, text.size()));
  if (address.size() > 2 && address.front() == '[' && address.back() == ']') {
    address = address.substr(1, address.size() - 2);
  } else if (address.find(':') != std::string::npos) {
    address.clear();
  }
  beast::error_code error;
  const asio::ip::address parsed = asio::ip::make_address(address, error);
  Bind out = {address, 0, !error && parsed.is_loopback()};
  const char* const end = text.data() + text.size();
  const char* const begin = colon == std::string::npos ? end : text.data() + colon + 1;
  const auto port = std::from_chars(begin, end, out.port);
  if (error || port.ec != std::errc() || port.ptr != end) {
    return InvalidArgument("bind " + text + ": expected ADDRESS:PORT, in numbers");
  }
  return out;
}

HubServer::HubServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HubServer::~HubServer() = default;

Result<std::unique_ptr<HubServer>> HubServer::Listen(const Bind& bind, HubDirectory directory,
                                                     std::string token, const Limits& limits) {
  auto impl = std::make_unique<Impl>(std::move(directory), std::move(token), limits);
  ODY_RETURN_IF_ERROR(impl->Listen(bind));
  return std::unique_ptr<HubServer>(new HubServer(std::move(impl)));
}

uint16_t HubServer::port() const { return impl_->port(); }
void HubServer::Serve() { impl_->Serve(); }
void HubServer::Stop() { impl_->Stop(); }

}  // namespace odyssey::server
