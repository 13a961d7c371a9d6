#ifndef ODYSSEY_SUPERVISOR_WIRE_PROVIDER_WIRE_H_
#define ODYSSEY_SUPERVISOR_WIRE_PROVIDER_WIRE_H_

// What odyssey-ctl and odyssey-egress say to each other of a user's providers, one SOCK_SEQPACKET
// message each. A secret goes one way only.
//
//   odyssey-ctl → odyssey-egress   Put · Remove · List
//   odyssey-egress → odyssey-ctl   Done, the last one; before it, to List, a Provider each

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "supervisor/wire/typed_message.h"

namespace odyssey::provider_wire {

// Below the directory of --run.
inline constexpr char kSocket[] = "/egress/providers.sock";
inline constexpr uint32_t kPeer = UINT32_MAX;  // as an owner: the user that asks

inline constexpr uint32_t kMaxProviders = 64;  // of a user
inline constexpr uint32_t kMaxKeys = 32;       // of a provider
inline constexpr uint32_t kMaxEndpoints = 64;  // of a provider
inline constexpr uint32_t kMaxSecretBytes = 64 * 1024;
inline constexpr uint32_t kMaxNameBytes =
    64;  // of a provider (policy/model/provider_name.h), a type
inline constexpr uint32_t kMaxKeyBytes = 128;
inline constexpr uint32_t kMaxEndpointBytes = 512;

enum class MessageType : uint8_t { kPut = 1, kRemove, kList, kProvider, kDone, kLast = kDone };

struct Secret {
  std::string key;  // of the environment variable
  std::string value;
};

struct Put {
  uint32_t owner = kPeer;
  bool create = false;  // ALREADY_EXISTS if there is one; else NOT_FOUND if there is none
  std::string name;
  std::string type;                    // "" in an update: as it was
  std::vector<Secret> secrets;         // of an update: added, or in place of those before
  std::vector<std::string> endpoints;  // "HOST:PORT"; empty: the type's, in an update as they were
};

struct Remove {
  uint32_t owner = kPeer;
  std::string name;
};

struct List {
  uint32_t owner = kPeer;
};

struct Provider {
  std::string name, type;
  std::vector<std::string> keys;
  std::vector<std::string> endpoints;
  uint64_t created = 0, rotated = 0;  // seconds since 1970
  bool by_operator = false;           // of the service's credentials: for every user
  friend bool operator==(const Provider&, const Provider&) = default;
};

struct Done {
  Status status;
};

constexpr MessageType TypeOf(const Put&) { return MessageType::kPut; }
constexpr MessageType TypeOf(const Remove&) { return MessageType::kRemove; }
constexpr MessageType TypeOf(const List&) { return MessageType::kList; }
constexpr MessageType TypeOf(const Provider&) { return MessageType::kProvider; }
constexpr MessageType TypeOf(const Done&) { return MessageType::kDone; }

void VisitFields(auto& v, Secret& m) {
  v.Text("key", m.key, kMaxKeyBytes);
  v.Text("value", m.value, kMaxSecretBytes);
}

void VisitFields(auto& v, Put& m) {
  v.U32("owner", m.owner);
  v.Bool("create", m.create);
  v.Text("name", m.name, kMaxNameBytes);
  v.Text("type", m.type, kMaxNameBytes);
  v.List("secrets", m.secrets, kMaxKeys);
  v.Texts("endpoints", m.endpoints, kMaxEndpoints, kMaxEndpointBytes);
}

void VisitFields(auto& v, Remove& m) {
  v.U32("owner", m.owner);
  v.Text("name", m.name, kMaxNameBytes);
}

void VisitFields(auto& v, List& m) { v.U32("owner", m.owner); }

void VisitFields(auto& v, Provider& m) {
  v.Text("name", m.name, kMaxNameBytes);
  v.Text("type", m.type, kMaxNameBytes);
  v.Texts("keys", m.keys, kMaxKeys, kMaxKeyBytes);
  v.Texts("endpoints", m.endpoints, kMaxEndpoints, kMaxEndpointBytes);
  v.U64("created", m.created);
  v.U64("rotated", m.rotated);
  v.Bool("by_operator", m.by_operator);
}

void VisitFields(auto& v, Done& m) { v.Result("status", m.status); }

// INVALID_ARGUMENT if it is none.
inline Result<MessageType> TypeOf(std::string_view bytes) {
  return TypeOfBytes<MessageType>(bytes, "providers");
}

template <typename M>
std::string Encode(const M& message) {
  return EncodeTyped(message);
}

template <typename M>
Status Decode(std::string_view bytes, M* message) {
  return DecodeTyped(bytes, "providers", message);
}

}  // namespace odyssey::provider_wire

#endif  // ODYSSEY_SUPERVISOR_WIRE_PROVIDER_WIRE_H_
