#ifndef ODYSSEY_TESTS_TESTING_REFUSAL_H_
#define ODYSSEY_TESTS_TESTING_REFUSAL_H_

#include <string>

#include "common/base/refusal.h"

namespace odyssey::testing {

// "FIELD: VALUE: WHY" or "FIELD: WHY" as what refuses a field makes it. A text without ": " is a
// failure of no field.
inline Status RefusalOf(const std::string& text) {
  const size_t end = text.find_first_of(": ");
  if (end == std::string::npos || end == 0) return PermissionDenied(text);
  const size_t begin = text.find_first_not_of(": ", end);
  if (begin == std::string::npos) return PermissionDenied(text);
  const std::string rest = text.substr(begin);
  return PermissionDenied(text).With(
      {.field = text.substr(0, end), .value = rest.substr(0, rest.find(": "))});
}

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_TESTING_REFUSAL_H_
