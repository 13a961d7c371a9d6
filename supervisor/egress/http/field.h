#ifndef ODYSSEY_SUPERVISOR_EGRESS_HTTP_FIELD_H_
#define ODYSSEY_SUPERVISOR_EGRESS_HTTP_FIELD_H_

// Header fields, and the characters of HTTP/1 (RFC 9110 section 5, RFC 9112 section 5).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::egress::http {

struct Field {
  std::string name;   // as it was written
  std::string value;  // without white space around it
  friend bool operator==(const Field&, const Field&) = default;
};

using Fields = std::vector<Field>;

// Bytes above 0x7f in a value. Responses of real servers have them in names of files.
enum class ObsText { kRefuse, kAllow };

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// -1: no hexadecimal digit.
int HexValue(char c);
// A visible character of ASCII.
inline bool IsVisible(char c) { return c > 0x20 && c < 0x7f; }
bool IsTokenCharacter(char c);
bool IsToken(std::string_view text);
bool IsValueCharacter(char c, ObsText obs_text);
bool IsFieldValue(std::string_view text, ObsText obs_text);

std::string LowerCase(std::string_view text);
std::string UpperCase(std::string_view text);
// Without regard to the case of ASCII.
bool SameText(std::string_view a, std::string_view b);
bool BeginsWithText(std::string_view text, std::string_view beginning);
// Without spaces and tabs around it.
std::string_view Trim(std::string_view text);

size_t CountFields(const Fields& fields, std::string_view name);
// The first one.
const Field* FindField(const Fields& fields, std::string_view name);
// The members of all fields of this name, which are lists separated by commas; empty members are
// left out. A comma within quotes separates too.
std::vector<std::string> ListMembers(const Fields& fields, std::string_view name);

// "NAME: VALUE" without its end of line, of bytes that HeadScanner let through; nullopt if it is
// none: no name, a space before the colon, a line that continues the one before (obs-fold).
std::optional<Field> ParseField(std::string_view line);

// Appends "NAME: VALUE\r\n".
void AppendField(std::string_view name, std::string_view value, std::string* out);

}  // namespace odyssey::egress::http

#endif  // ODYSSEY_SUPERVISOR_EGRESS_HTTP_FIELD_H_
