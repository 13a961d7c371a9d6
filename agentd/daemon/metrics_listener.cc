#include "agentd/daemon/metrics_listener.h"

#include <arpa/inet.h>
#include <civetweb.h>

#include <atomic>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

namespace odyssey::daemon {
namespace {

constexpr uint32_t kLoopback = 127;  // the first byte of its addresses
constexpr char kPath[] = "/metrics";

bool IsLoopback(const std::string& host) {
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 &&
         ntohl(address.s_addr) >> 24 == kLoopback;
}

bool IsPort(std::string_view text) {
  uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && stop == end && port != 0;
}

class Listener final : public MetricsListener {
 public:
  explicit Listener(std::function<std::string()> text) : text_(std::move(text)) {}
  ~Listener() override {
    if (context_ != nullptr) mg_stop(context_);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // There is no document_root, so that no file is served.
  Status Start(const std::string& address) {
    const char* options[] = {"listening_ports",
                             address.c_str(),
                             "num_threads",
                             "2",
                             "request_timeout_ms",
                             "5000",
                             "enable_keep_alive",
                             "no",
                             nullptr};
    mg_callbacks callbacks{};
    callbacks.begin_request = [](mg_connection* connection) { return Answer(connection); };
    callbacks.log_message = [](const mg_connection* connection, const char* text) {
      auto* const self = static_cast<Listener*>(mg_get_user_data(mg_get_context(connection)));
      if (!self->started_ && self->why_.empty()) self->why_ = text;
      return 1;  // it logs nothing by itself
    };
    context_ = mg_start(&callbacks, this, options);
    started_ = true;
    if (context_ != nullptr) return OkStatus();
    return Unavailable("--metrics-listen " + address + ": cannot be listened on: " + why_);
  }

 private:
  // Every request ends here: nothing of the library's own answers.
  static int Answer(mg_connection* connection) {
    const mg_request_info* const request = mg_get_request_info(connection);
    const auto* const self = static_cast<const Listener*>(request->user_data);
    const std::string_view path = request->local_uri == nullptr ? "" : request->local_uri;
    if (path != kPath) return Send(connection, 404, "Not Found", "only /metrics is served\n");
    if (std::strcmp(request->request_method, "GET") != 0) {
      return Send(connection, 405, "Method Not Allowed", "only GET is served\n");
    }
    return Send(connection, 200, "OK", self->text_());
  }

  static int Send(mg_connection* connection, int status, const char* reason,
                  const std::string& body) {
    mg_printf(connection,
              "HTTP/1.1 %d %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
              "Content-Length: %zu\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
              status, reason, body.size());
    mg_write(connection, body.data(), body.size());
    return status;
  }

  const std::function<std::string()> text_;
  std::atomic<bool> started_ = false;
  std::string why_;  // it does not start
  mg_context* context_ = nullptr;
};

}  // namespace

Status CheckMetricsAddress(const std::string& option, const std::string& address) {
  const size_t colon = address.rfind(':');
  const bool valid = colon != std::string::npos && IsLoopback(address.substr(0, colon)) &&
                     IsPort(std::string_view(address).substr(colon + 1));
  if (valid) return OkStatus();
  return InvalidArgument(option + " \"" + address +
                         "\": must be ADDRESS:PORT with an address of 127.0.0.0/8, such as "
                         "127.0.0.1:9464; a proxy with authentication serves other hosts");
}

Result<std::unique_ptr<MetricsListener>> ListenForMetrics(const std::string& address,
                                                          std::function<std::string()> text) {
  auto listener = std::make_unique<Listener>(std::move(text));
  ODY_RETURN_IF_ERROR(listener->Start(address));
  return std::unique_ptr<MetricsListener>(std::move(listener));
}

}  // namespace odyssey::daemon
