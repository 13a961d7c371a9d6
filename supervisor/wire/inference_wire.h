#ifndef ODYSSEY_SUPERVISOR_WIRE_INFERENCE_WIRE_H_
#define ODYSSEY_SUPERVISOR_WIRE_INFERENCE_WIRE_H_

// Routes of inference.local, as odyssey-egress gives them to a worker, and what was used of them
// (supervisor/wire/egress_wire.h).

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/field_codec.h"

namespace odyssey::egress_wire {

inline constexpr uint32_t kMaxRoutes = 8;  // of a cell: all of them fit into one message
inline constexpr uint32_t kMaxModels = 32;
inline constexpr uint32_t kMaxModelBytes = 256;
inline constexpr uint32_t kMaxRouteTextBytes = 512;  // of a name, a host, a path, a field's name
inline constexpr uint32_t kMaxRouteKeyBytes = 4096;

enum class RouteProtocol : uint8_t { kOpenAi, kAnthropic, kGemini };

// Millionths of a dollar for a million tokens.
struct RoutePrice {
  uint64_t input = 0;
  uint64_t output = 0;
  friend bool operator==(const RoutePrice&, const RoutePrice&) = default;
};

// A server that answers requests of one protocol.
struct Route {
  std::string name;
  RouteProtocol protocol = RouteProtocol::kOpenAi;
  bool tls = true;
  std::string host;  // normalised
  uint16_t port = 443;
  std::string base_path;  // before the path of a request; "" or "/…", no slash at its end
  std::string model;      // that is asked for; "": the caller's
  std::vector<std::string> models;  // patterns of what a caller may name; empty: anything
  std::string key_field;  // the header field of `key`; `authorization` has it as a bearer token
  std::string key;        // secret; "": none is sent
  RoutePrice price;
  uint32_t first_byte_seconds = 120;  // from the connection to the head of the answer
  uint32_t idle_seconds = 120;        // between two pieces of it
  friend bool operator==(const Route&, const Route&) = default;
};

// Of one cell; 0: no bound.
struct RouteBudget {
  uint64_t tokens = 0;
  uint64_t cost = 0;  // millionths of a dollar
  uint32_t requests_per_minute = 0;
  friend bool operator==(const RouteBudget&, const RouteBudget&) = default;
};

struct RouteUse {
  uint64_t tokens = 0;
  uint64_t cost = 0;
  friend bool operator==(const RouteUse&, const RouteUse&) = default;
};

// The cell's routes from now on, in the order in which they are tried, in place of those before.
struct SetRoutes {
  std::vector<Route> routes;
  RouteBudget budget;
  RouteUse used;  // by earlier workers of the cell
};

// Of a Record about a request to inference.local.
struct InferenceRecord {
  std::string route;
  std::string model;  // that the route was asked for
  uint64_t tokens_in = 0, tokens_out = 0;
  uint64_t cost = 0;
  friend bool operator==(const InferenceRecord&, const InferenceRecord&) = default;
};

void VisitFields(auto& v, Route& m) {
  v.Text("name", m.name, kMaxRouteTextBytes);
  v.Enum("protocol", m.protocol, RouteProtocol::kGemini);
  v.Bool("tls", m.tls);
  v.Text("host", m.host, kMaxRouteTextBytes);
  v.U16("port", m.port);
  v.Text("base_path", m.base_path, kMaxRouteTextBytes);
  v.Text("model", m.model, kMaxModelBytes);
  v.Texts("models", m.models, kMaxModels, kMaxModelBytes);
  v.Text("key_field", m.key_field, kMaxRouteTextBytes);
  v.Text("key", m.key, kMaxRouteKeyBytes);
  v.U64("price_input", m.price.input);
  v.U64("price_output", m.price.output);
  v.U32("first_byte_seconds", m.first_byte_seconds);
  v.U32("idle_seconds", m.idle_seconds);
}

void VisitFields(auto& v, SetRoutes& m) {
  v.List("routes", m.routes, kMaxRoutes);
  v.U64("budget_tokens", m.budget.tokens);
  v.U64("budget_cost", m.budget.cost);
  v.U32("budget_requests_per_minute", m.budget.requests_per_minute);
  v.U64("used_tokens", m.used.tokens);
  v.U64("used_cost", m.used.cost);
}

void VisitFields(auto& v, InferenceRecord& m) {
  v.Text("route", m.route, kMaxRouteTextBytes);
  v.Text("model", m.model, kMaxModelBytes);
  v.U64("tokens_in", m.tokens_in);
  v.U64("tokens_out", m.tokens_out);
  v.U64("cost", m.cost);
}

}  // namespace odyssey::egress_wire

#endif  // ODYSSEY_SUPERVISOR_WIRE_INFERENCE_WIRE_H_
