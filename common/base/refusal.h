#ifndef ODYSSEY_COMMON_BASE_REFUSAL_H_
#define ODYSSEY_COMMON_BASE_REFUSAL_H_

// Failures that are about a field of a request. Apart from status.h: root knows none.

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey {

// Detail::hint.
inline constexpr char kHintCeiling[] = "operator_ceiling";  // the operator grants no more
inline constexpr char kHintDanger[] = "allow_danger";       // a person must say that it is meant

// A field of a request is refused: "FIELD: VALUE: WHY". Without a value "FIELD: WHY". `allowed` is
// for programs: a person reads it in `why`.
Status Refused(Code code, std::string field, std::string value, std::string_view why,
               std::string allowed = "");

// The same failure, of a field: "FIELD: message". A field that it was of is part of this one:
// "FIELD.message". `value`, unless it is empty, is what the message is about.
Status OfField(std::string_view field, const Status& status, std::string value = "");

// The same failure, whose message names the field in its own way.
Status AboutField(std::string field, const Status& status);

// The same failure, with a hint (above).
Status WithHint(std::string hint, const Status& status);

// The same failure in other words.
Status WithMessage(std::string message, const Status& status);

// The message without the field that it begins with.
std::string_view WhyRefused(const Status& status);

bool operator==(const Detail& a, const Detail& b);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_BASE_REFUSAL_H_
