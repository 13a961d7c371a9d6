#include "supervisor/egress/inference/json_text.h"

#include <nlohmann/json.hpp>

#include "policy/egress/json.h"

namespace odyssey::egress::inference {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

size_t SkipSpace(std::string_view text, size_t at) {
  return std::min(text.find_first_not_of(kSpace, at), text.size());
}

// `at`: of its first quote. Returns what follows the last one.
size_t SkipString(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

size_t SkipValue(std::string_view text, size_t at) {
  for (size_t depth = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = SkipString(text, at);
      if (depth == 0) return at;
      continue;
    }
    const bool closes = c == '}' || c == ']';
    if (depth == 0 && (closes || c == ',' || kSpace.find(c) != std::string_view::npos)) return at;
    if (c == '{' || c == '[') ++depth;
    ++at;
    if (closes && --depth == 0) return at;
  }
  return text.size();
}

bool Names(std::string_view quoted, std::string_view key) {
  if (quoted.find('\\') == std::string_view::npos) {
    return quoted.size() == key.size() + 2 && quoted.substr(1, key.size()) == key;
  }
  const Result<Json> name = ParseJson(quoted);
  return name.ok() && name->text == key;
}

}  // namespace

std::optional<Span> FindMember(std::string_view text, std::string_view key) {
  size_t at = SkipSpace(text, 0);
  if (at == text.size() || text[at] != '{') return std::nullopt;
  for (at = SkipSpace(text, at + 1); at < text.size() && text[at] == '"';) {
    const size_t name_end = SkipString(text, at);
    const bool found = Names(text.substr(at, name_end - at), key);
    at = SkipSpace(text, SkipSpace(text, name_end) + 1);  // behind the colon
    const size_t end = SkipValue(text, at);
    if (found) return Span{at, end - at};
    at = SkipSpace(text, SkipSpace(text, end) + 1);  // behind the comma
  }
  return std::nullopt;
}

std::string WithMember(std::string_view text, std::string_view key, std::string_view value) {
  if (const auto found = FindMember(text, key)) {
    return std::string(text.substr(0, found->at)).append(value) +
           std::string(text.substr(found->at + found->size));
  }
  const std::string member = Quoted(key) + ":" + std::string(value);
  const size_t open = SkipSpace(text, 0);
  if (open == text.size() || text[open] != '{') return "{" + member + "}";
  const size_t next = SkipSpace(text, open + 1);
  const bool empty = next < text.size() && text[next] == '}';
  return "{" + member + (empty ? "" : ",") + std::string(text.substr(open + 1));
}

std::string Quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace odyssey::egress::inference
