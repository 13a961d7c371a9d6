#include "agentd/scenario/template.h"

#include <charconv>
#include <utility>

namespace odyssey::scenario {
namespace {

constexpr uint64_t kMaxLines = 1'000'000;

enum class Takes { kNothing, kNumber, kText };

struct FilterName {
  std::string_view name;
  FilterKind kind;
  Takes takes;
};
constexpr FilterName kFilters[] = {
    {"lines", FilterKind::kLines, Takes::kNothing}, {"count", FilterKind::kCount, Takes::kNothing},
    {"trim", FilterKind::kTrim, Takes::kNothing},   {"head", FilterKind::kHead, Takes::kNumber},
    {"tail", FilterKind::kTail, Takes::kNumber},    {"join", FilterKind::kJoin, Takes::kText},
    {"pluck", FilterKind::kPluck, Takes::kText},    {"shell", FilterKind::kShell, Takes::kNothing},
    {"default", FilterKind::kDefault, Takes::kText}};

std::string FilterNames() {
  std::string out;
  for (const FilterName& filter : kFilters)
    out += (out.empty() ? "" : ", ") + std::string(filter.name);
  return out;
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

// Reads what stands between "${" and "}".
class ReferenceParser final {
 public:
  explicit ReferenceParser(std::string_view text) : rest_(text) {}

  // `rest` is what follows the closing brace.
  Result<Reference> Parse(std::string_view* rest) {
    Reference out;
    do {
      SkipSpaces();
      out.path.push_back(TakeWord());
      if (out.path.back().empty()) return Error("a name is missing");
    } while (Take('.'));
    for (SkipSpaces(); Take('|'); SkipSpaces()) {
      ODY_ASSIGN_OR_RETURN(Filter filter, ParseFilter());
      out.filters.push_back(std::move(filter));
    }
    if (!Take('}')) return Error("expected \"|\" or \"}\"");
    *rest = rest_;
    return out;
  }

 private:
  static Status Error(const std::string& what) {
    return InvalidArgument("in ${…}: " + what + "; write $${ for a plain ${");
  }

  void SkipSpaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n'))
      rest_.remove_prefix(1);
  }
  bool Take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string TakeWord() {
    size_t length = 0;
    while (length < rest_.size() && IsNameCharacter(rest_[length])) ++length;
    std::string out(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return out;
  }

  Result<Filter> ParseFilter() {
    SkipSpaces();
    const std::string name = TakeWord();
    for (const FilterName& known : kFilters) {
      if (known.name != name) continue;
      SkipSpaces();
      Filter out{known.kind, {}, 0};
      if (known.takes == Takes::kNumber) {
        ODY_ASSIGN_OR_RETURN(out.number, ParseNumber(name));
      } else if (known.takes == Takes::kText) {
        ODY_ASSIGN_OR_RETURN(out.text, ParseText(name));
      }
      return out;
    }
    return Error("unknown filter \"" + name + "\"; allowed: " + FilterNames());
  }

  Result<uint64_t> ParseNumber(const std::string& filter) {
    const std::string digits = TakeWord();
    uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    if (error != std::errc() || stop != end || value > kMaxLines) {
      return Error("filter " + filter + " needs a number from 0 to " + std::to_string(kMaxLines));
    }
    return value;
  }

  // "text" with \n, \t, \" and \\.
  Result<std::string> ParseText(const std::string& filter) {
    if (!Take('"')) return Error("filter " + filter + " needs a text in double quotes");
    std::string out;
    while (!rest_.empty() && rest_.front() != '"') {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\' && !rest_.empty()) {
        c = rest_.front() == 'n' ? '\n' : rest_.front() == 't' ? '\t' : rest_.front();
        rest_.remove_prefix(1);
      }
      out += c;
    }
    if (!Take('"')) return Error("a text has no closing quote");
    return out;
  }

  std::string_view rest_;
};

}  // namespace

Result<Template> ParseTemplate(std::string_view text) {
  Template out;
  std::string literal;
  while (!text.empty()) {
    if (text.substr(0, 3) == "$${") {
      literal += "${";
      text.remove_prefix(3);
    } else if (text.substr(0, 2) == "${") {
      if (!literal.empty()) out.pieces.emplace_back(std::exchange(literal, {}));
      std::string_view rest;
      ODY_ASSIGN_OR_RETURN(Reference reference, ReferenceParser(text.substr(2)).Parse(&rest));
      out.pieces.emplace_back(std::move(reference));
      text = rest;
    } else {
      literal += text.front();
      text.remove_prefix(1);
    }
  }
  if (!literal.empty()) out.pieces.emplace_back(std::move(literal));
  return out;
}

std::vector<std::string> NamesIn(const Template& text) {
  std::vector<std::string> out;
  for (const auto& piece : text.pieces) {
    if (const auto* reference = std::get_if<Reference>(&piece)) {
      out.push_back(reference->path.front());
    }
  }
  return out;
}

}  // namespace odyssey::scenario
