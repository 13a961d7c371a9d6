#ifndef ODYSSEY_POLICY_EXECUTABLES_FOUND_ENCODING_H_
#define ODYSSEY_POLICY_EXECUTABLES_FOUND_ENCODING_H_

// compile::FoundExecutables as bytes, for programs of an image: a confined process finds them.

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "policy/compile/found_executables.h"

namespace odyssey::executables {

inline constexpr size_t kMaxFoundBytes = size_t{4} << 20;

std::string EncodeFound(const compile::FoundExecutables& found);
// INVALID_ARGUMENT if a byte is out of place, or a path lies outside the system's trees: a hostile
// answer names nothing else.
Result<compile::FoundExecutables> DecodeFound(std::string_view bytes);

}  // namespace odyssey::executables

#endif  // ODYSSEY_POLICY_EXECUTABLES_FOUND_ENCODING_H_
