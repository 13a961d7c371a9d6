#ifndef ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_TEXT_FORM_H_
#define ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_TEXT_FORM_H_

// The forms in which a text stands in a request or a response.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::egress::credentials {

// All but letters, digits and `-._~` as %XX.
std::string PercentEncode(std::string_view text);
// nullopt: a percent sign without two digits. `+` is itself.
std::optional<std::string> PercentDecode(std::string_view text);
// Of a name or value of a query or a form: `+` is a space.
std::optional<std::string> FormDecode(std::string_view text);

// Within a string of JSON. For visible ASCII.
std::string JsonEscape(std::string_view text);

std::string Base64Encode(std::string_view bytes);
// With or without `=` at its end; nullopt: it is none.
std::optional<std::string> Base64Decode(std::string_view text);

// Every form of the text, itself first, without duplicates.
std::vector<std::string> FormsOf(std::string_view text);

}  // namespace odyssey::egress::credentials

#endif  // ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_TEXT_FORM_H_
