#include "policy/egress/grant.h"

#include <algorithm>

#include "policy/egress/pattern.h"
#include "policy/egress/policy_text.h"

namespace odyssey::egress {
namespace {

bool IsWritable(const Connection& connection, const Endpoint* like, const Matcher* allow) {
  if (connection.program.known && !IsLiteralPath(connection.program.path)) return false;
  if (like != nullptr && (like->credentials != Credentials{} || like->graphql.allow_registered)) {
    return false;
  }
  if (allow == nullptr) return true;
  const auto has_star = [](const std::string& text) { return text.find('*') != std::string::npos; };
  return (allow->path.empty() || IsLiteralPath(allow->path)) && !has_star(allow->method) &&
         !has_star(allow->operation_name) && !has_star(allow->tool) &&
         !has_star(allow->params_name);
}

std::string KeyOf(const Connection& connection) {
  std::string key = "allow_";
  for (const char c : connection.host) key += c == '.' || c == ':' || c == '-' ? '_' : c;
  return key + "_" + std::to_string(connection.port);
}

}  // namespace

std::string SmallestGrant(const Connection& connection, const Endpoint* like,
                          const Matcher* allow) {
  if (!IsWritable(connection, like, allow)) return "";
  const std::string program = connection.program.known ? connection.program.path : "/**";
  return "network_policies:\n  " + KeyOf(connection) +
         ":\n    endpoints:\n    - host: " + Scalar(connection.host) + "\n" + kEndpointIndent +
         "port: " + std::to_string(connection.port) + "\n" +
         (like == nullptr ? "" : EndpointText(*like, allow)) + "    binaries:\n" +
         BinaryText({.path = program, .sha256 = connection.program.sha256});
}

}  // namespace odyssey::egress
