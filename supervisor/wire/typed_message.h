#ifndef ODYSSEY_SUPERVISOR_WIRE_TYPED_MESSAGE_H_
#define ODYSSEY_SUPERVISOR_WIRE_TYPED_MESSAGE_H_

// A message as a byte for its type, then its fields. A wire of such messages has an enumeration
// MessageType of bytes from 1 to kLast, and a function TypeOf for each message.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/field_codec.h"
#include "common/base/status.h"

namespace odyssey {

// INVALID_ARGUMENT if the bytes are no message of the wire. `about` names it, for people.
template <typename MessageType>
Result<MessageType> TypeOfBytes(std::string_view bytes, const char* about) {
  const auto type = static_cast<uint8_t>(bytes.empty() ? 0 : bytes[0]);
  if (type != 0 && type <= static_cast<uint8_t>(MessageType::kLast)) {
    return static_cast<MessageType>(type);
  }
  return InvalidArgument(std::string("not a message of ") + about);
}

template <typename M>
std::string EncodeTyped(const M& message) {
  return std::string(1, static_cast<char>(TypeOf(message))) + EncodeFields(message);
}

// INVALID_ARGUMENT for another message, a field beyond its bounds, or bytes that follow.
template <typename M>
Status DecodeTyped(std::string_view bytes, const char* about, M* message) {
  if (!bytes.empty() && bytes[0] == static_cast<char>(TypeOf(*message))) {
    Reader in(bytes.substr(1));
    GetFields get(&in);
    VisitFields(get, *message);
    if (in.Done()) return OkStatus();
  }
  return InvalidArgument(std::string("a message of ") + about + " is of another type or malformed");
}

}  // namespace odyssey

#endif  // ODYSSEY_SUPERVISOR_WIRE_TYPED_MESSAGE_H_
