#include "supervisor/egress/worker/outgoing.h"

#include <utility>
#include <variant>

#include "supervisor/egress/http/forward.h"
#include "supervisor/egress/websocket/handshake.h"
#include "supervisor/egress/worker/websocket.h"

namespace odyssey::egress {
namespace {

using http::RequestHead;

constexpr uint16_t kHttpPort = 80, kHttpsPort = 443;
constexpr int kBadRequest = 400;

void Refuse(Judgement* judged, int status, std::string code, std::string reason) {
  judged->passage = Refused(std::move(judged->passage), std::move(code), std::move(reason));
  judged->status = status;
}

http::Route RouteOf(const RequestHead& head, const Judgement& judged, bool tls) {
  http::Route route{.host = judged.passage.to.host,
                    .port = judged.passage.to.port,
                    .default_port = tls ? kHttpsPort : kHttpPort,
                    .upgrade = MayOpenWebSocket(judged.passage.decision)
                                   ? http::UpgradeRule::kWebSocket
                                   : http::UpgradeRule::kRefuse};
  if (judged.body && head.framing.kind != http::FramingKind::kNone) {
    route.framing = http::Framing{http::FramingKind::kLength, judged.body->size()};
  }
  return route;
}

std::variant<std::string, http::ParseError> WriteHead(const RequestHead& head,
                                                      const Judgement& judged, bool tls) {
  if (head.upgrade == http::Upgrade::kWebSocket) {
    const std::string_view error = websocket::CheckRequest(head.fields);
    if (!error.empty()) return http::ParseError{kBadRequest, std::string(error)};
  }
  return http::WriteRequestHead(head, judged.path, RouteOf(head, judged, tls));
}

}  // namespace

asio::awaitable<std::optional<Outgoing>> PrepareRequest(Worker* worker, const Arrival& arrival,
                                                        const RequestHead& head, Judgement judged,
                                                        const TakeBody& take_body) {
  const bool tls = arrival.server && arrival.server->tls;
  CredentialUse use(worker->keyring(), judged.passage, tls);
  Outgoing out{.judged = std::move(judged), .head = "", .credentials = std::move(use)};
  if (out.judged.status != 0) co_return out;
  std::optional<std::string>& body = out.judged.body;
  if (const uint64_t limit = out.credentials.BodyBytes(head); limit != 0 && !body) {
    body = co_await take_body(out.judged.passage, limit);
    if (!body) co_return std::nullopt;
  }
  RequestHead sent = head;
  if (!out.credentials.PutIn(&sent, &out.judged.path, &body)) {
    const credentials::Refusal& why = out.credentials.refusal();
    Refuse(&out.judged, out.credentials.status(), why.code, why.reason);
    co_return out;
  }
  out.judged.passage.credential = out.credentials.names();
  auto written = WriteHead(sent, out.judged, tls);
  if (const auto* error = std::get_if<http::ParseError>(&written)) {
    Refuse(&out.judged, error->status, http::RefusalOf(*error).error, error->reason);
    co_return out;
  }
  out.head = std::get<std::string>(std::move(written));
  co_return out;
}

}  // namespace odyssey::egress
