#ifndef ODYSSEY_COMMON_MESSAGE_ENUM_NAME_H_
#define ODYSSEY_COMMON_MESSAGE_ENUM_NAME_H_

// The name of a protocol's enum value for people, JSON, audit and events. Pure.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/generated_enum_reflection.h>

#include <string>
#include <type_traits>

namespace odyssey::message {

// TURN_STATUS_RUNNING of enum TurnStatus → "running".
std::string EnumName(const google::protobuf::EnumValueDescriptor& value);

// The same of a value. A number that the protocol does not name has that of the enum's zero:
// "unspecified".
template <typename Enum, typename = std::enable_if_t<std::is_enum_v<Enum>>>
std::string EnumName(Enum value) {
  const auto* type = google::protobuf::GetEnumDescriptor<Enum>();
  const auto* named = type->FindValueByNumber(value);
  return EnumName(named != nullptr ? *named : *type->value(0));
}

}  // namespace odyssey::message

#endif  // ODYSSEY_COMMON_MESSAGE_ENUM_NAME_H_
