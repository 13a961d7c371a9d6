#ifndef ODYSSEY_POLICY_EGRESS_JSON_H_
#define ODYSSEY_POLICY_EGRESS_JSON_H_

// JSON that a cell sent, read so strictly that no other reader sees another value in it: keys are
// unique, the depth and the number of values are bounded, and nothing stands before or after it.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace odyssey::egress {

inline constexpr int kMaxJsonDepth = 64;
inline constexpr size_t kMaxJsonValues = 131072;

struct Json {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  std::string text;               // of a string
  std::vector<std::string> keys;  // of an object; its values are in `items`
  std::vector<Json> items;

  bool IsObject() const { return kind == Kind::kObject; }
  bool IsArray() const { return kind == Kind::kArray; }
  bool IsString() const { return kind == Kind::kString; }
  bool IsNull() const { return kind == Kind::kNull; }
  // The member of an object; null if there is none.
  const Json* Find(std::string_view key) const;
};

// INVALID_ARGUMENT: not JSON. ALREADY_EXISTS: a key is there twice. RESOURCE_EXHAUSTED: too deep,
// too many values.
Result<Json> ParseJson(std::string_view text);

// A key of the object that is not one of `names`, and that a reader which ignores case takes for
// one: "Method", "param\u017f". "" if there is none.
std::string LookAlike(const Json& object, const std::vector<std::string_view>& names);

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_JSON_H_
