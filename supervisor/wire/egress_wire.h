#ifndef ODYSSEY_SUPERVISOR_WIRE_EGRESS_WIRE_H_
#define ODYSSEY_SUPERVISOR_WIRE_EGRESS_WIRE_H_

// What odyssey-supervisor-rpc, odyssey-egress and its workers say to each other, one SOCK_SEQPACKET
// message each (common/os/message_socket.h). rpc makes one connection for each cell, and closing it
// ends what the cell has with the network. odyssey-egress starts a worker for the cell when
// something arrives on one of its ways, and passes both sides' messages on.
//
//   rpc → broker → worker   SetPolicy · SetAuthority · Way + 1 fd · Sync
//   worker → broker → rpc   Record · Loaded · Synced; the last two the broker without a worker
//   worker → broker         Dial
//   broker → worker         Dialed + 1 fd · SetCredentials · SetRoutes
//   broker → rpc            Placeholders
//   worker → broker         Traffic: rpc is sent that of the whole cell, and the cell's next worker
//                           the last of each key
//
// The broker decides on a Dial by itself: a worker that hostile bytes have taken over reaches what
// its cell may reach anyway.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/field_codec.h"
#include "common/base/status.h"
#include "policy/egress/policy_fields.h"
#include "supervisor/wire/cell_wire.h"
#include "supervisor/wire/inference_wire.h"
#include "supervisor/wire/typed_message.h"

namespace odyssey::egress_wire {

inline constexpr int kWorkerFd = 3;  // of a worker: its socket to the broker
// Below the directory of --run.
inline constexpr char kBrokerSocket[] = "/egress/egress.sock";

enum class MessageType : uint8_t {
  kSetPolicy = 1,
  kSetAuthority,
  kWay,
  kRecord,
  kDial,
  kDialed,
  kPlaceholders,
  kSetCredentials,
  kLoaded,
  kSetRoutes,
  kTraffic,
  kSync,
  kSynced,
  kLast = kSynced,
};

// The policy from now on. Connections that it refuses are shut.
struct SetPolicy {
  std::string cell_id;
  uint64_t revision = 0;
  egress::NetworkPolicy policy;
  uint32_t owner_uid = 0;              // whose providers and routes are meant
  std::vector<std::string> providers;  // by name, whose credentials the cell may use
};

// The cell's certificate authority, as tls::Authority::Save gives it.
struct SetAuthority {
  std::string text;
};

struct Way {
  cell::EgressWay way;
};

enum class Verdict : uint8_t {
  kAllowed,
  kDenied,
  kAudited,  // would be denied, and went on: `enforcement: audit`
};

// One decision: about a connection, a request in it, or a name.
struct Record {
  Verdict verdict = Verdict::kDenied;
  uint64_t revision = 0;  // of the policy that decided
  std::string way;        // "connect", "request", "socks", "tcp", "dns", "accept"
  std::string host;       // as the client named it
  uint16_t port = 0;      // 0: of a name alone
  std::string address;    // that was dialled
  std::string program;    // "": not known
  std::string rule;       // key of the endpoint that decided
  std::string code;       // of a refusal: "policy_denied", "ssrf_denied", …
  std::string reason;     // of a refusal, for people
  std::string grant;      // of a refusal: the smallest policy that would allow it
  std::string method, path;
  uint16_t status = 0;     // that was answered
  std::string credential;  // that was put in: "PROVIDER/KEY", separated by commas
  InferenceRecord inference;
  // Not 0: this record is of so many decisions with its verdict, which have no records of their
  // own.
  uint64_t suppressed = 0;
  friend bool operator==(const Record&, const Record&) = default;
};

// The policy of this revision decides from now on, and connections that it refuses are shut.
struct Loaded {
  uint64_t revision = 0;
};

// Resolve the name, check what it leads to, and connect.
struct Dial {
  uint32_t id = 0;
  std::string host;
  uint16_t port = 0;
  std::string program;
  std::vector<std::string> ancestors;
  std::string sha256;  // of the program's file; "": not known
  std::string route;   // of inference.local, which is `host` then: that route's server is meant
};

// With the connected socket if `status` is OK.
struct Dialed {
  uint32_t id = 0;
  Status status;
  std::string code;     // of a refusal by the policy
  std::string address;  // "192.0.2.1:443"
};

// What programs of the cell find in the variable `key` in place of a secret.
struct Placeholder {
  std::string key;
  std::string text;
  friend bool operator==(const Placeholder&, const Placeholder&) = default;
};

// The answer to each SetPolicy, and again when a provider was changed.
struct Placeholders {
  uint64_t revision = 0;  // of that policy
  std::vector<Placeholder> placeholders;
  std::vector<std::string> errors;  // "provider NAME: there is none of this name"
};

// A secret, and the endpoints ("HOST:PORT", HOST may be a pattern) whose servers may see it. Those
// that the policy binds to the provider by name are among them.
struct Credential {
  std::string provider, key;
  std::string placeholder;
  std::string secret;  // "": for no endpoint of the policy
  std::vector<std::string> endpoints;
  friend bool operator==(const Credential&, const Credential&) = default;
};

// The cell's credentials from now on, in place of those before. A list that is too long for one
// message goes on in the next one.
struct SetCredentials {
  std::vector<Credential> credentials;
  bool more = false;
};

// What passed to and from servers in the cell's life so far, without TLS's own bytes: what counts
// against budgets. At most once a second.
struct Traffic {
  std::string key;    // of an endpoint; "": the whole cell
  uint64_t up = 0;    // bytes
  uint64_t down = 0;  // bytes
  uint64_t open = 0;  // connections, now
};

// Answered by Synced when every Record of what was decided before it has been sent.
struct Sync {
  uint64_t number = 0;  // grows
};

struct Synced {
  uint64_t number = 0;
};

inline constexpr uint32_t kMaxShortBytes = 1024;
inline constexpr uint32_t kMaxLongBytes = 8 * 1024;
inline constexpr uint32_t kMaxProviders = 64;     // of a cell
inline constexpr uint32_t kMaxCredentials = 256;  // of a cell
inline constexpr uint32_t kMaxBindings = 64;      // endpoints of one credential
inline constexpr uint32_t kMaxSecretBytes = 64 * 1024;
inline constexpr uint32_t kMaxPlaceholderBytes = 96 * 1024;  // of a cell, in all

constexpr MessageType TypeOf(const SetPolicy&) { return MessageType::kSetPolicy; }
constexpr MessageType TypeOf(const SetAuthority&) { return MessageType::kSetAuthority; }
constexpr MessageType TypeOf(const Way&) { return MessageType::kWay; }
constexpr MessageType TypeOf(const Record&) { return MessageType::kRecord; }
constexpr MessageType TypeOf(const Dial&) { return MessageType::kDial; }
constexpr MessageType TypeOf(const Dialed&) { return MessageType::kDialed; }
constexpr MessageType TypeOf(const Placeholders&) { return MessageType::kPlaceholders; }
constexpr MessageType TypeOf(const SetCredentials&) { return MessageType::kSetCredentials; }
constexpr MessageType TypeOf(const Loaded&) { return MessageType::kLoaded; }
constexpr MessageType TypeOf(const SetRoutes&) { return MessageType::kSetRoutes; }
constexpr MessageType TypeOf(const Traffic&) { return MessageType::kTraffic; }
constexpr MessageType TypeOf(const Sync&) { return MessageType::kSync; }
constexpr MessageType TypeOf(const Synced&) { return MessageType::kSynced; }

void VisitFields(auto& v, SetPolicy& m) {
  v.Text("cell_id", m.cell_id, kMaxShortBytes);
  v.U64("revision", m.revision);
  VisitFields(v, m.policy);
  v.U32("owner_uid", m.owner_uid);
  v.Texts("providers", m.providers, kMaxProviders, kMaxShortBytes);
}

void VisitFields(auto& v, SetAuthority& m) { v.Text("text", m.text, kMaxLongBytes); }

void VisitFields(auto& v, Way& m) { VisitFields(v, m.way); }

void VisitFields(auto& v, Record& m) {
  v.Enum("verdict", m.verdict, Verdict::kAudited);
  v.U64("revision", m.revision);
  v.Text("way", m.way, kMaxShortBytes);
  v.Text("host", m.host, kMaxShortBytes);
  v.U16("port", m.port);
  v.Text("address", m.address, kMaxShortBytes);
  v.Text("program", m.program, cell::kMaxPath);
  v.Text("rule", m.rule, egress::kMaxTextBytes);
  v.Text("code", m.code, kMaxShortBytes);
  v.Text("reason", m.reason, kMaxLongBytes);
  v.Text("grant", m.grant, kMaxLongBytes);
  v.Text("method", m.method, kMaxShortBytes);
  v.Text("path", m.path, kMaxLongBytes);
  v.U16("status", m.status);
  v.Text("credential", m.credential, kMaxLongBytes);
  VisitFields(v, m.inference);
  v.U64("suppressed", m.suppressed);
}

void VisitFields(auto& v, Dial& m) {
  v.U32("id", m.id);
  v.Text("host", m.host, kMaxShortBytes);
  v.U16("port", m.port);
  v.Text("program", m.program, cell::kMaxPath);
  v.Texts("ancestors", m.ancestors, cell::kMaxAncestors, cell::kMaxPath);
  v.Text("sha256", m.sha256, egress::kMaxSha256Digits);
  v.Text("route", m.route, kMaxRouteTextBytes);
}

void VisitFields(auto& v, Sync& m) { v.U64("number", m.number); }

void VisitFields(auto& v, Synced& m) { v.U64("number", m.number); }

void VisitFields(auto& v, Loaded& m) { v.U64("revision", m.revision); }

void VisitFields(auto& v, Dialed& m) {
  v.U32("id", m.id);
  v.Result("status", m.status);
  v.Text("code", m.code, kMaxShortBytes);
  v.Text("address", m.address, kMaxShortBytes);
}

void VisitFields(auto& v, Placeholder& m) {
  v.Text("key", m.key, kMaxShortBytes);
  v.Text("text", m.text, kMaxSecretBytes);
}

void VisitFields(auto& v, Placeholders& m) {
  v.U64("revision", m.revision);
  v.List("placeholders", m.placeholders, kMaxCredentials);
  v.Texts("errors", m.errors, kMaxProviders, kMaxShortBytes);
}

void VisitFields(auto& v, Credential& m) {
  v.Text("provider", m.provider, kMaxShortBytes);
  v.Text("key", m.key, kMaxShortBytes);
  v.Text("placeholder", m.placeholder, kMaxSecretBytes);
  v.Text("secret", m.secret, kMaxSecretBytes);
  v.Texts("endpoints", m.endpoints, kMaxBindings, kMaxShortBytes);
}

void VisitFields(auto& v, SetCredentials& m) {
  v.List("credentials", m.credentials, kMaxCredentials);
  v.Bool("more", m.more);
}

void VisitFields(auto& v, Traffic& m) {
  v.Text("key", m.key, egress::kMaxTextBytes);
  v.U64("up", m.up);
  v.U64("down", m.down);
  v.U64("open", m.open);
}

// INVALID_ARGUMENT if it is none.
inline Result<MessageType> TypeOf(std::string_view bytes) {
  return TypeOfBytes<MessageType>(bytes, "egress");
}

template <typename M>
std::string Encode(const M& message) {
  return EncodeTyped(message);
}

template <typename M>
Status Decode(std::string_view bytes, M* message) {
  return DecodeTyped(bytes, "egress", message);
}

}  // namespace odyssey::egress_wire

#endif  // ODYSSEY_SUPERVISOR_WIRE_EGRESS_WIRE_H_
