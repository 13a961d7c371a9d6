#ifndef ODYSSEY_HTTP_API_ROUTE_TABLE_H_
#define ODYSSEY_HTTP_API_ROUTE_TABLE_H_

// The routes: the one table that requests are matched with and that the OpenAPI document is made
// of. Pure.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "http/shape/message_body.h"

namespace odyssey::api {

// What is done for a request, and what comes of it.
enum class Act {
  kCall,       // one call; its answer as JSON
  kRemove,     // one call; 204
  kList,       // a call with a stream of answers; a JSON array of them
  kBytes,      // one, or a stream; bytes
  kEvents,     // Subscribe as text/event-stream
  kApprovals,  // WatchApprovals as text/event-stream
  kSession,    // GetSession and ListTurns
  kRun,        // SubmitTurn
  kRunSync,    // SubmitTurn, and Subscribe until the turn's end
  kExec,       // SessionExec
  kImport,     // the body is the file
  kMetrics,
  kHealth,
  kDocument,  // the OpenAPI document
  kConsole,   // a file of the web console
  kSignIn,    // ExchangeLink; a cookie
  kSignOut,
  kMcp,        // the Model Context Protocol
  kElsewhere,  // 501: odyssey-ctl does it
};

// Of the query.
struct Parameter {
  std::string_view name;  // of the query, and the field of the request unless `field` has another
  std::string_view summary;
  std::string_view field = {};
  bool required = false;
};

using Reader = Status (*)(const shape::Json& body, google::protobuf::Message* request);
using Writer = std::string (*)(const google::protobuf::Message& answer);

struct Route {
  std::string_view method;
  std::string_view path;  // "/sessions/{session_id}/turns": a part in braces is a field
  Act act = Act::kCall;
  std::string_view rpc;  // "odyssey.agent.v1.SessionService.ListTurns"; empty: none
  std::string_view summary;
  std::vector<Parameter> query = {};
  Reader read = nullptr;  // null: protobuf's mapping
  Writer write = nullptr;
  // Schemas in JSON, where `read`, `write` or the act have others than the messages'.
  std::string_view request_schema = {}, answer_schema = {};
  std::string_view content_type = "application/json";  // of the answer
  bool is_open = false;                                // without a token
  int deadline_ms = 60'000;                            // of the call; 0: none
};

const std::vector<Route>& Routes();

struct Match {
  const Route* route = nullptr;                // null: there is none
  std::map<std::string, std::string> of_path;  // by the name in braces
  std::vector<std::string> allowed;            // methods that the path has, if not this one
};
Match FindRoute(std::string_view method, const std::vector<std::string>& segments);

// null: the route makes no call.
const google::protobuf::MethodDescriptor* MethodOf(const Route& route);
// "/odyssey.agent.v1.SessionService/ListTurns".
std::string CallPath(const google::protobuf::MethodDescriptor& method);
std::unique_ptr<google::protobuf::Message> NewMessage(const google::protobuf::Descriptor& type);
// Where a request has what a path names: "session_id", or "key.session_id".
std::string FieldOf(const google::protobuf::Descriptor& request, std::string_view name);

// The call's request from a body, and then from the other parts. INVALID_ARGUMENT names the field.
Status ReadBody(const Route& route, const shape::Json& body, google::protobuf::Message* request);
Status FillFields(const Route& route, const std::map<std::string, std::string>& of_path,
                  const std::map<std::string, std::string>& query,
                  google::protobuf::Message* request);

// Whether the route reads a JSON body.
bool HasJsonBody(const Route& route);

}  // namespace odyssey::api

#endif  // ODYSSEY_HTTP_API_ROUTE_TABLE_H_
