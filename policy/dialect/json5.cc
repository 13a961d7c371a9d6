#include "policy/dialect/json5.h"

#include <cctype>
#include <cstdint>

namespace odyssey::dialect {
namespace {

// What JSON5 counts as white space or a line end beyond ASCII.
constexpr std::string_view kLineSeparator = "\xe2\x80\xa8";
constexpr std::string_view kParagraphSeparator = "\xe2\x80\xa9";
constexpr std::string_view kNoBreakSpace = "\xc2\xa0";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
    return;
  }
  const int extra = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static constexpr int kLead[] = {0, 0xc0, 0xe0, 0xf0};
  *out += static_cast<char>(kLead[extra] | static_cast<int>(code >> (6 * extra)));
  for (int i = extra - 1; i >= 0; --i) *out += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
}

bool IsKeyByte(char c) {
  const unsigned char byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || c == '$' || byte >= 0x80;
}

class Json5Parser final {
 public:
  Json5Parser(const std::string& file, std::string_view text, Problems* problems)
      : file_(file), text_(text), problems_(problems) {}

  std::optional<Node> Parse() {
    Node root;
    Take(kByteOrderMark);
    const bool parsed = SkipSpace() && Value(0, &root) && SkipSpace();
    if (parsed && !AtEnd()) Fail("unexpected " + Seen() + " after the document");
    if (failed_) return std::nullopt;
    return root;
  }

 private:
  // Each returns false once the text is known to be wrong.
  bool Value(int depth, Node* node) {
    node->line = line_;
    node->column = static_cast<int>(position_ - line_start_) + 1;
    if (depth > kMaxDocumentDepth) {
      return Fail("nested deeper than " + std::to_string(kMaxDocumentDepth) + " levels");
    }
    if (AtEnd()) return Fail("the file ends where a value is expected");
    const char c = text_[position_];
    if (c == '{') return Map(depth, node);
    if (c == '[') return List(depth, node);
    if (c == '"' || c == '\'') {
      node->kind = NodeKind::kString;
      return String(&node->text);
    }
    return Plain(node);
  }

  bool Map(int depth, Node* node) {
    node->kind = NodeKind::kMap;
    ++position_;
    while (true) {
      if (!SkipSpace()) return false;
      if (Take("}")) return true;
      Key key{.line = line_};
      if (!KeyName(&key.name) || !SkipSpace()) return false;
      if (!Take(":")) return Fail("expected `:` after the key `" + key.name + "`, not " + Seen());
      Node value;
      if (!SkipSpace() || !Value(depth + 1, &value)) return false;
      AddMember(std::move(key), std::move(value), node);
      if (node->keys.size() > kMaxMapKeys) return Fail(TooManyKeys(node->keys.back().name));
      if (!SkipSpace()) return false;
      if (Take("}")) return true;
      if (!Take(",")) return Fail("expected `,` or `}`, not " + Seen());
    }
  }

  void AddMember(Key key, Node value, Node* map) {
    for (const Key& other : map->keys) {
      if (other.name == key.name) {
        Report(key.line,
               "duplicate key `" + key.name + "`, first on line " + std::to_string(other.line));
        return;
      }
    }
    map->keys.push_back(std::move(key));
    map->items.push_back(std::move(value));
  }

  bool List(int depth, Node* node) {
    node->kind = NodeKind::kList;
    ++position_;
    while (true) {
      if (!SkipSpace()) return false;
      if (Take("]")) return true;
      Node item;
      if (!Value(depth + 1, &item)) return false;
      node->items.push_back(std::move(item));
      if (!SkipSpace()) return false;
      if (Take("]")) return true;
      if (!Take(",")) return Fail("expected `,` or `]`, not " + Seen());
    }
  }

  bool KeyName(std::string* name) {
    if (AtEnd()) return Fail("the file ends inside a map");
    const char c = text_[position_];
    if (c == '"' || c == '\'') return String(name);
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      return Fail("a key may not begin with a digit unless it is quoted");
    }
    while (!AtEnd()) {
      if (Take("\\u")) {
        uint32_t code = 0;
        if (!Hex(4, &code)) return false;
        if (code < 0x80 && !IsKeyByte(static_cast<char>(code))) return Fail("bad escape in a key");
        if (code >= 0xd800 && code < 0xe000) return Fail("a surrogate in a key");
        AppendUtf8(code, name);
      } else if (IsKeyByte(text_[position_]) && !At(kNoBreakSpace) && !At(kLineSeparator) &&
                 !At(kParagraphSeparator) && !At(kByteOrderMark)) {
        *name += text_[position_++];
      } else {
        break;
      }
    }
    return !name->empty() || Fail("expected a key, not " + Seen());
  }

  // A number or true, false, null.
  bool Plain(Node* node) {
    const size_t start = position_;
    while (!AtEnd() && (IsKeyByte(text_[position_]) || At("+") || At("-") || At("."))) {
      if (At(kNoBreakSpace) || At(kLineSeparator) || At(kParagraphSeparator)) break;
      ++position_;
    }
    const std::string_view word = text_.substr(start, position_ - start);
    if (word == "null") return true;
    if (word == "true" || word == "false") {
      node->kind = NodeKind::kBool;
      node->boolean = word == "true";
      return true;
    }
    if (std::optional<std::string> number = CanonicalNumber(word)) {
      node->kind = NodeKind::kNumber;
      node->text = *std::move(number);
      return true;
    }
    position_ = start;
    if (word.empty()) return Fail("expected a value, not " + Seen());
    return Fail(
        "`" + std::string(word.substr(0, 40)) +
        "` is not a value: strings need quotes, other values are numbers, true, false, null");
  }

  bool String(std::string* out) {
    const char quote = text_[position_++];
    const int start = line_;
    while (!AtEnd()) {
      const char c = text_[position_];
      if (c == quote) {
        ++position_;
        return true;
      }
      if (c == '\n' || c == '\r') {
        return Fail(
            "a line ends inside a string: its closing quote is missing, or a `\\` at the end");
      }
      ++position_;
      if (c != '\\') {
        *out += c;
      } else if (!Escape(out)) {
        return false;
      }
    }
    return Fail("a string that begins on line " + std::to_string(start) + " has no end");
  }

  // After the backslash.
  bool Escape(std::string* out) {
    if (TakeLineEnd()) return true;
    if (AtEnd()) return Fail("the file ends inside a string");
    static constexpr std::string_view kFrom = "bfnrtv";
    static constexpr std::string_view kTo = "\b\f\n\r\t\v";
    const char c = text_[position_++];
    uint32_t code = 0;
    if (const size_t at = kFrom.find(c); at != std::string_view::npos) {
      *out += kTo[at];
    } else if (c == 'x') {
      if (!Hex(2, &code)) return false;
      AppendUtf8(code, out);
    } else if (c == 'u') {
      if (!Utf16(&code)) return false;
      AppendUtf8(code, out);
    } else if (c >= '0' && c <= '9') {
      const bool null = c == '0' && (AtEnd() || std::isdigit(text_[position_]) == 0);
      if (!null) return Fail("an octal escape in a string");
      *out += '\0';
    } else {
      *out += c;
    }
    return true;
  }

  bool Utf16(uint32_t* code) {
    if (!Hex(4, code)) return false;
    if (*code < 0xd800 || *code >= 0xe000) return true;
    uint32_t low = 0;
    if (*code >= 0xdc00 || !Take("\\u") || !Hex(4, &low) || low < 0xdc00 || low >= 0xe000) {
      return Fail("an unpaired surrogate in a string");
    }
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return true;
  }

  bool Hex(int digits, uint32_t* code) {
    for (int i = 0; i < digits; ++i) {
      const char c = AtEnd() ? '\0' : text_[position_++];
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) {
        return Fail("expected " + std::to_string(digits) + " hexadecimal digits");
      }
      *code = *code * 16 + static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return true;
  }

  // White space and comments.
  bool SkipSpace() {
    while (!AtEnd()) {
      if (TakeLineEnd() || Take(" ") || Take("\t") || Take("\v") || Take("\f") ||
          Take(kNoBreakSpace) || Take(kByteOrderMark)) {
        continue;
      }
      if (Take("//")) {
        while (!AtEnd() && !AtLineEnd()) ++position_;
      } else if (Take("/*")) {
        const int start = line_;
        while (!AtEnd() && !At("*/")) {
          if (!TakeLineEnd()) ++position_;
        }
        if (!Take("*/")) {
          return Fail("a comment that begins on line " + std::to_string(start) + " has no end");
        }
      } else {
        return true;
      }
    }
    return !failed_;
  }

  bool AtLineEnd() const {
    return At("\n") || At("\r") || At(kLineSeparator) || At(kParagraphSeparator);
  }
  bool TakeLineEnd() {
    // Lines are counted as editors do: U+2028 and U+2029 end none.
    if (Take(kLineSeparator) || Take(kParagraphSeparator)) return true;
    if (!Take("\r\n") && !Take("\n") && !Take("\r")) return false;
    ++line_;
    line_start_ = position_;
    return true;
  }

  bool AtEnd() const { return position_ >= text_.size(); }
  bool At(std::string_view token) const { return text_.substr(position_, token.size()) == token; }
  bool Take(std::string_view token) {
    if (!At(token)) return false;
    position_ += token.size();
    return true;
  }

  std::string Seen() const {
    if (AtEnd()) return "the end of the file";
    const char c = text_[position_];
    return c > ' ' && c < 0x7f ? "`" + std::string(1, c) + "`"
                               : "a character that has no place here";
  }

  void Report(int line, std::string message) {
    problems_->push_back({ProblemKind::kJson5, file_, line, "", std::move(message)});
  }
  bool Fail(std::string message) {
    if (!failed_) Report(line_, std::move(message));
    failed_ = true;
    return false;
  }

  const std::string& file_;
  const std::string_view text_;
  Problems* const problems_;
  size_t position_ = 0;
  size_t line_start_ = 0;
  int line_ = 1;
  bool failed_ = false;
};

}  // namespace

std::optional<Node> ParseJson5(const std::string& file, std::string_view text, Problems* problems) {
  return Json5Parser(file, text, problems).Parse();
}

}  // namespace odyssey::dialect
