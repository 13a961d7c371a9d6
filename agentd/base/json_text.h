#ifndef ODYSSEY_AGENTD_BASE_JSON_TEXT_H_
#define ODYSSEY_AGENTD_BASE_JSON_TEXT_H_

// JSON that comes from models and goes into events, as text. Pure.

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::agent {

// Deepest nesting that is accepted: deeper values would exhaust the stack of whoever prints them.
inline constexpr int kMaxJsonDepth = 64;

// The same object, printed one way: keys sorted, no spaces, valid UTF-8. Blank text is an empty
// object, because models send that for calls without arguments. INVALID_ARGUMENT otherwise.
Result<std::string> CanonicalObject(std::string_view text);

// The text as a JSON string. Invalid UTF-8 becomes U+FFFD.
std::string JsonString(std::string_view text);

// {"error": message}.
std::string ErrorObject(std::string_view message);

}  // namespace odyssey::agent

#endif  // ODYSSEY_AGENTD_BASE_JSON_TEXT_H_
