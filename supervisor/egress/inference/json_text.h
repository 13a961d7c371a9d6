#ifndef ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_JSON_TEXT_H_
#define ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_JSON_TEXT_H_

// Members of a JSON object, found and replaced in its text: what is around them stays as the
// caller wrote it. The text is one that ParseJson (policy/egress/json.h) accepts.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace odyssey::egress::inference {

// Where a value stands.
struct Span {
  size_t at = 0;
  size_t size = 0;
  std::string_view Of(std::string_view text) const { return text.substr(at, size); }
};

// Of the outermost object; nullopt: there is none, or the text is no object.
std::optional<Span> FindMember(std::string_view text, std::string_view key);

// The text with the member `key`, whose value is the JSON `value`, in place of the one it has. What
// is no object becomes one with this member alone.
std::string WithMember(std::string_view text, std::string_view key, std::string_view value);

// As JSON. Bytes that are no UTF-8 become U+FFFD.
std::string Quoted(std::string_view text);

}  // namespace odyssey::egress::inference

#endif  // ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_JSON_TEXT_H_
