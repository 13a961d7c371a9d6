#include "policy/egress/names.h"

namespace odyssey::egress {

const Names<Protocol>& ProtocolNames() {
  static const Names<Protocol> names = {{"", Protocol::kL4},
                                        {"tcp", Protocol::kTcp},
                                        {"rest", Protocol::kRest},
                                        {"websocket", Protocol::kWebSocket},
                                        {"graphql", Protocol::kGraphQl},
                                        {"mcp", Protocol::kMcp},
                                        {"json-rpc", Protocol::kJsonRpc},
                                        {"sql", Protocol::kSql}};
  return names;
}

const Names<Enforcement>& EnforcementNames() {
  static const Names<Enforcement> names = {{"enforce", Enforcement::kEnforce},
                                           {"audit", Enforcement::kAudit}};
  return names;
}

const Names<AccessLevel>& AccessNames() {
  static const Names<AccessLevel> names = {{"read-only", AccessLevel::kReadOnly},
                                           {"read-write", AccessLevel::kReadWrite},
                                           {"full", AccessLevel::kFull}};
  return names;
}

const Names<Signing>& SigningNames() {
  static const Names<Signing> names = {{"sigv4", Signing::kSigV4},
                                       {"sigv4:body", Signing::kSigV4Body},
                                       {"sigv4:no_body", Signing::kSigV4NoBody}};
  return names;
}

const Names<OnError>& OnErrorNames() {
  static const Names<OnError> names = {{"fail_closed", OnError::kFailClosed},
                                       {"fail_open", OnError::kFailOpen}};
  return names;
}

}  // namespace odyssey::egress
