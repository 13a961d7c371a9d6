#include "image/dockerfile/word.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace odyssey::dockerfile {
namespace {

constexpr int kMaxNesting = 32;  // of ${A:-${B:-…}}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

bool IsNameStart(char c) { return isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool IsNamePart(char c) { return IsNameStart(c) || isdigit(static_cast<unsigned char>(c)) != 0; }

enum class Quotes { kAreSyntax, kAreText };

class Expander final {
 public:
  Expander(std::string_view text, char escape, Quotes quotes, const Lookup& lookup)
      : rest_(text), escape_(escape), quotes_(quotes), lookup_(lookup) {}

  // Up to the end, or to a "}" that is not closed here.
  Result<std::string> Run(int nesting) {
    std::string out;
    while (!rest_.empty() && (nesting == 0 || rest_.front() != '}')) {
      const char c = Take();
      if (c == '\'' && quotes_ == Quotes::kAreSyntax) {
        ODY_RETURN_IF_ERROR(TakeSingleQuoted(&out));
      } else if (c == '"' && quotes_ == Quotes::kAreSyntax) {
        ODY_RETURN_IF_ERROR(TakeDoubleQuoted(nesting, &out));
      } else if (c == '$') {
        ODY_RETURN_IF_ERROR(TakeVariable(nesting, &out));
      } else if (c == escape_) {
        TakeEscaped(&out);
      } else {
        out += c;
      }
    }
    return out;
  }

 private:
  char Take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  void TakeEscaped(std::string* out) {
    if (rest_.empty()) {
      *out += escape_;
    } else if (quotes_ == Quotes::kAreText && rest_.front() != '$' && rest_.front() != escape_) {
      *out += escape_;
    } else {
      *out += Take();
    }
  }

  Status TakeSingleQuoted(std::string* out) {
    const size_t end = rest_.find('\'');
    if (end == std::string_view::npos) return InvalidArgument("a ' is not closed");
    *out += rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return OkStatus();
  }

  Status TakeDoubleQuoted(int nesting, std::string* out) {
    while (!rest_.empty()) {
      const char c = Take();
      if (c == '"') return OkStatus();
      if (c == '$') {
        ODY_RETURN_IF_ERROR(TakeVariable(nesting, out));
      } else if (c == escape_ && !rest_.empty() &&
                 (rest_.front() == '"' || rest_.front() == '$' || rest_.front() == escape_)) {
        *out += Take();
      } else {
        *out += c;
      }
    }
    return InvalidArgument("a \" is not closed");
  }

  std::string TakeName() {
    std::string name;
    while (!rest_.empty() && IsNamePart(rest_.front())) name += Take();
    return name;
  }

  // From behind the "$".
  Status TakeVariable(int nesting, std::string* out) {
    if (rest_.starts_with('{')) return TakeBraced(nesting, out);
    if (rest_.empty() || !IsNameStart(rest_.front())) {
      *out += '$';
      return OkStatus();
    }
    *out += lookup_(TakeName()).value_or("");
    return OkStatus();
  }

  Status TakeBraced(int nesting, std::string* out) {
    Take();
    const std::string name = TakeName();
    if (name.empty() || !IsNameStart(name.front())) {
      return InvalidArgument("${: expected the name of a variable");
    }
    const std::optional<std::string> value = lookup_(name);
    if (rest_.starts_with('}')) {
      Take();
      *out += value.value_or("");
      return OkStatus();
    }
    const bool colon = rest_.starts_with(':');
    if (colon) Take();
    if (rest_.empty()) return InvalidArgument("${" + name + ": a } is missing");
    const char how = Take();
    if (how != '-' && how != '+' && how != '?') {
      return InvalidArgument("${" + name + (colon ? ":" : "") + how +
                             ": expected }, :-, :+ or :? behind the name");
    }
    if (nesting == kMaxNesting) return InvalidArgument("${" + name + ": is nested too deeply");
    ODY_ASSIGN_OR_RETURN(const std::string word, Run(nesting + 1));
    if (!rest_.starts_with('}')) return InvalidArgument("${" + name + ": a } is missing");
    Take();
    const bool is_set = value && (!colon || !value->empty());
    if (how == '?' && !is_set) {
      return InvalidArgument(name + ": " + (word.empty() ? "has no value" : word));
    }
    if (how == '+') {
      *out += is_set ? word : std::string();
    } else {
      *out += is_set ? *value : word;
    }
    return OkStatus();
  }

  std::string_view rest_;
  const char escape_;
  const Quotes quotes_;
  const Lookup& lookup_;
};

}  // namespace

std::vector<std::string> SplitWords(std::string_view text, char escape) {
  std::vector<std::string> words;
  std::string word;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0' && IsBlank(c)) {
      if (!word.empty()) words.push_back(std::exchange(word, {}));
      continue;
    }
    word += c;
    if (c == escape && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
    } else if (quote == c) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

Result<std::string> Expand(std::string_view word, char escape, const Lookup& lookup) {
  return Expander(word, escape, Quotes::kAreSyntax, lookup).Run(0);
}

Result<std::string> ExpandHeredoc(std::string_view content, char escape, const Lookup& lookup) {
  return Expander(content, escape, Quotes::kAreText, lookup).Run(0);
}

Status CheckWord(std::string_view word, char escape) {
  return Expand(word, escape, [](const std::string&) { return std::optional<std::string>("x"); })
      .status();
}

bool IsVariableName(std::string_view name) {
  return !name.empty() && IsNameStart(name.front()) &&
         std::all_of(name.begin(), name.end(), IsNamePart);
}

}  // namespace odyssey::dockerfile
