// What a cell sends for a decision: JSON, documents of GraphQL, and requests with them as bodies.
// Nothing throws, a decision has a reason or is allowed, and it is the same when it is asked again.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "policy/egress/decide.h"
#include "policy/egress/graphql_document.h"
#include "policy/egress/json.h"

namespace {

using odyssey::egress::Connection;
using odyssey::egress::Decision;
using odyssey::egress::Endpoint;
using odyssey::egress::Protocol;
using odyssey::egress::Request;
using odyssey::egress::Rule;

void CheckDecision(const Decision& decision, const Decision& again) {
  const bool refused = decision.refusal != odyssey::egress::Refusal::kNone;
  ODY_CHECK(refused == !decision.reason.empty());
  ODY_CHECK(decision.allowed == (!refused || decision.audited));
  ODY_CHECK(decision.allowed == again.allowed && decision.reason == again.reason);
}

void Decide(Protocol protocol, const std::string& body) {
  Endpoint endpoint{.host = "a.example.com", .ports = {443}, .protocol = protocol, .key = "e"};
  endpoint.allow = {{.method = "tools/call", .tool = "read_*"},
                    {.operation_type = "query", .fields = {"a*"}}};
  endpoint.deny = {{.operation_type = "mutation"}};
  const Rule rule;
  const Connection connection{"a.example.com", 443, {}};
  const Request request = {.method = "POST",
                           .path = "/",
                           .query = {},
                           .headers = {{"content-type", "application/json"}},
                           .body = body};
  const auto decide = [&] { return DecideRequest(connection, {{&rule, &endpoint}}, request); };
  CheckDecision(decide(), decide());
  if (protocol != Protocol::kWebSocket) return;
  const auto say = [&] { return DecideMessage(connection, {{&rule, &endpoint}}, request, body); };
  CheckDecision(say(), say());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto document = odyssey::egress::ParseGraphQl(text);
  if (document.ok()) {
    ODY_CHECK(!document->empty());
    for (const auto& operation : *document) ODY_CHECK(!operation.fields.empty());
  }
  const auto json = odyssey::egress::ParseJson(text);
  if (json.ok()) ODY_CHECK(json->keys.empty() || json->keys.size() == json->items.size());
  for (const Protocol protocol :
       {Protocol::kGraphQl, Protocol::kJsonRpc, Protocol::kMcp, Protocol::kWebSocket}) {
    Decide(protocol, text);
  }
  return 0;
}
