#ifndef ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_ROUTES_H_
#define ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_ROUTES_H_

// Which of a cell's routes serve a request, and what they are asked.

#include <string>
#include <variant>
#include <vector>

#include "supervisor/egress/http/path.h"
#include "supervisor/egress/http/request_head.h"
#include "supervisor/egress/inference/ask.h"
#include "supervisor/wire/inference_wire.h"

namespace odyssey::egress::inference {

using egress_wire::Route;

// In the order in which they are tried; at least one. They point into `routes`.
std::variant<std::vector<const Route*>, AskRefusal> RoutesFor(const std::vector<Route>& routes,
                                                              const Ask& ask);

// What the route's server is asked for.
const std::string& ModelOf(const Route& route, const Ask& ask);

// What the route's server is sent. The body is framed by its length.
struct Outgoing {
  http::RequestHead head;
  http::CanonicalPath path;
  std::string body;
  // The server was asked for the usage of the stream, and the caller did not ask.
  bool hides_usage = false;
};

// Of the caller's request it has the fields and the parameters that are known to be about the
// answer, and nothing that says who asks: the key is the route's.
Outgoing Rewrite(const Route& route, const Ask& ask, const http::RequestHead& head,
                 const http::CanonicalPath& path, std::string_view body);

// The answer to a request that lists models: those that the routes of its protocol name.
std::string ModelsBody(const std::vector<Route>& routes, const Ask& ask);

// The body of an error, as a client of the protocol reads one.
std::string ErrorBody(RouteProtocol protocol, int status, const std::string& code,
                      const std::string& message);

// Fields of a server's answer that are about the operator's account, or that would set cookies.
bool IsPrivateToRoute(const http::Field& field);

}  // namespace odyssey::egress::inference

#endif  // ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_ROUTES_H_
