#ifndef ODYSSEY_SUPERVISOR_WIRE_MESSAGE_FIELDS_H_
#define ODYSSEY_SUPERVISOR_WIRE_MESSAGE_FIELDS_H_

// How a message of root_wire.h is laid out: shared by the two halves of its codec.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/codec.h"
#include "policy/plan/plan.h"
#include "supervisor/wire/root_wire.h"

namespace odyssey::wire {

inline constexpr uint32_t kMaxText = 4096;
inline constexpr uint32_t kMaxDirectories = 16;

inline Writer Begin(RootMessage type) {
  Writer w;
  w.U8(static_cast<uint8_t>(type));
  return w;
}

// Each message is its type byte, then its fields; `read` takes the fields.
template <typename ReadFields>
Status DecodeAs(RootMessage type, const char* name, std::string_view bytes, ReadFields read) {
  Reader r(bytes);
  if (r.U8() == static_cast<uint8_t>(type)) {
    read(r);
    if (r.Done()) return OkStatus();
  }
  return InvalidArgument(std::string("malformed message ") + name);
}

}  // namespace odyssey::wire

#endif  // ODYSSEY_SUPERVISOR_WIRE_MESSAGE_FIELDS_H_
