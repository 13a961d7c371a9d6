#include "supervisor/egress/http/field.h"

#include <algorithm>

namespace odyssey::egress::http {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool IsLetter(char c) { return Lower(c) >= 'a' && Lower(c) <= 'z'; }

}  // namespace

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = Lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool IsTokenCharacter(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return IsLetter(c) || IsDigit(c) || kMarks.find(c) != std::string_view::npos;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenCharacter);
}

bool IsValueCharacter(char c, ObsText obs_text) {
  if (static_cast<unsigned char>(c) >= 0x80) return obs_text == ObsText::kAllow;
  return IsVisible(c) || c == ' ' || c == '\t';
}

bool IsFieldValue(std::string_view text, ObsText obs_text) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return IsValueCharacter(c, obs_text); });
}

std::string LowerCase(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), Lower);
  return out;
}

std::string UpperCase(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), Upper);
  return out;
}

bool SameText(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return Lower(x) == Lower(y); });
}

bool BeginsWithText(std::string_view text, std::string_view beginning) {
  return SameText(text.substr(0, beginning.size()), beginning);
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

size_t CountFields(const Fields& fields, std::string_view name) {
  return static_cast<size_t>(std::count_if(fields.begin(), fields.end(), [&](const Field& field) {
    return SameText(field.name, name);
  }));
}

const Field* FindField(const Fields& fields, std::string_view name) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const Field& field) { return SameText(field.name, name); });
  return found == fields.end() ? nullptr : &*found;
}

std::vector<std::string> ListMembers(const Fields& fields, std::string_view name) {
  std::vector<std::string> members;
  for (const Field& field : fields) {
    if (!SameText(field.name, name)) continue;
    for (size_t at = 0; at <= field.value.size();) {
      const size_t end = std::min(field.value.find(',', at), field.value.size());
      const std::string_view member = Trim(std::string_view(field.value).substr(at, end - at));
      if (!member.empty()) members.emplace_back(member);
      at = end + 1;
    }
  }
  return members;
}

std::optional<Field> ParseField(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) return std::nullopt;
  const std::string_view value = Trim(line.substr(colon + 1));
  return Field{.name = std::string(line.substr(0, colon)), .value = std::string(value)};
}

void AppendField(std::string_view name, std::string_view value, std::string* out) {
  out->append(name).append(": ").append(value).append("\r\n");
}

}  // namespace odyssey::egress::http
