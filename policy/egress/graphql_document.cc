#include "policy/egress/graphql_document.h"

#include <algorithm>
#include <map>
#include <set>

#include "common/base/utf8.h"

namespace odyssey::egress {
namespace {

enum class Token { kEnd, kPunctuator, kName, kNumber, kString, kInvalid };

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

class Lexer final {
 public:
  explicit Lexer(std::string_view text) : rest_(text) { Next(); }

  Token token() const { return token_; }
  std::string_view text() const { return text_; }
  size_t position(std::string_view whole) const { return whole.size() - rest_.size(); }

  void Next() {
    SkipIgnored();
    if (rest_.empty()) return Take(Token::kEnd, 0);
    const char c = rest_[0];
    if (IsNameStart(c)) return Take(Token::kName, CountWhile(0, IsNamePart));
    if (IsDigit(c) || c == '-') return TakeNumber();
    if (c == '"') return TakeString();
    if (rest_.substr(0, 3) == "...") return Take(Token::kPunctuator, 3);
    const bool known = std::string_view("!$&()=:@[]{|}").find(c) != std::string_view::npos;
    Take(known ? Token::kPunctuator : Token::kInvalid, 1);
  }

 private:
  void Take(Token token, size_t length) {
    token_ = token;
    text_ = rest_.substr(0, length);
    rest_.remove_prefix(length);
  }

  template <typename Is>
  size_t CountWhile(size_t from, Is is) const {
    while (from < rest_.size() && is(rest_[from])) ++from;
    return from;
  }

  void SkipIgnored() {
    while (!rest_.empty()) {
      const char c = rest_[0];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',') {
        rest_.remove_prefix(1);
      } else if (c == '#') {
        rest_.remove_prefix(CountWhile(0, [](char d) { return d != '\n' && d != '\r'; }));
      } else {
        return;
      }
    }
  }

  // No leading zeros, no name or point right behind.
  void TakeNumber() {
    const size_t first = rest_[0] == '-' ? 1 : 0;
    size_t end = CountWhile(first, IsDigit);
    bool valid = end > first && (rest_[first] != '0' || end == first + 1);
    if (end < rest_.size() && rest_[end] == '.') {
      const size_t fraction = end + 1;
      end = CountWhile(fraction, IsDigit);
      valid = valid && end > fraction;
    }
    if (end < rest_.size() && (rest_[end] == 'e' || rest_[end] == 'E')) {
      size_t exponent = end + 1;
      if (exponent < rest_.size() && (rest_[exponent] == '+' || rest_[exponent] == '-')) ++exponent;
      end = CountWhile(exponent, IsDigit);
      valid = valid && end > exponent;
    }
    valid = valid && (end == rest_.size() || (!IsNameStart(rest_[end]) && rest_[end] != '.'));
    Take(valid ? Token::kNumber : Token::kInvalid, end);
  }

  void TakeString() {
    if (rest_.substr(0, 3) == "\"\"\"") return TakeBlockString();
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') {
      if (rest_[end] == '\n' || rest_[end] == '\r') return Take(Token::kInvalid, end);
      const size_t length = rest_[end] == '\\' ? EscapeLength(end) : 1;
      if (length == 0) return Take(Token::kInvalid, end);
      end += length;
    }
    if (end >= rest_.size()) return Take(Token::kInvalid, rest_.size());
    Take(Token::kString, end + 1);
  }

  // \uXXXX, \u{X…}, or a backslash with one of the letters; 0: none of them.
  size_t EscapeLength(size_t at) const {
    if (at + 1 >= rest_.size()) return 0;
    const auto is_hex = [](char c) {
      return IsDigit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
    };
    if (rest_[at + 1] != 'u') {
      return std::string_view("\"\\/bfnrt").find(rest_[at + 1]) == std::string_view::npos ? 0 : 2;
    }
    const size_t digits = at + 2;
    if (digits < rest_.size() && rest_[digits] == '{') {
      const size_t end = CountWhile(digits + 1, is_hex);
      const bool closed = end > digits + 1 && end < rest_.size() && rest_[end] == '}';
      return closed ? end + 1 - at : 0;
    }
    return CountWhile(digits, is_hex) >= digits + 4 ? 6 : 0;
  }

  void TakeBlockString() {
    size_t end = 3;
    while (end < rest_.size() && rest_.substr(end, 3) != "\"\"\"") {
      end += rest_.substr(end, 4) == "\\\"\"\"" ? 4 : 1;
    }
    if (end >= rest_.size()) return Take(Token::kInvalid, rest_.size());
    Take(Token::kString, end + 3);
  }

  std::string_view rest_;
  std::string_view text_;
  Token token_ = Token::kEnd;
};

// What a selection set has at its own level. Inline fragments are part of it.
struct Selections {
  std::vector<std::string> fields;
  std::vector<std::string> spreads;
};

struct Operation {
  std::string type;
  std::string name;
  Selections root;
};

// Recursive descent; a function that fails sets error_ and the rest returns at once.
class Parser final {
 public:
  explicit Parser(std::string_view document) : document_(document), lexer_(document) {}

  Result<std::vector<GraphQlOperation>> Parse() {
    while (ok() && lexer_.token() != Token::kEnd) ParseDefinition();
    if (ok() && operations_.empty()) Fail("no operation");
    CheckNames();
    std::vector<GraphQlOperation> out;
    for (const Operation& operation : operations_) {
      if (!ok()) break;
      std::set<std::string> fields;
      std::set<std::string> visited;
      Resolve(operation.root, 0, &visited, &fields);
      if (fields.empty()) Fail("an operation without fields");
      out.push_back({operation.type, operation.name, {fields.begin(), fields.end()}});
    }
    if (!ok()) return InvalidArgument("not a document of GraphQL: " + error_);
    return out;
  }

 private:
  bool ok() const { return error_.empty(); }
  void Fail(const std::string& why) {
    if (!ok()) return;
    error_ = why + ", before byte " + std::to_string(lexer_.position(document_));
  }

  bool IsPunctuator(std::string_view text) const {
    return lexer_.token() == Token::kPunctuator && lexer_.text() == text;
  }
  bool IsKeyword(std::string_view text) const {
    return lexer_.token() == Token::kName && lexer_.text() == text;
  }
  bool Accept(std::string_view text) {
    if (!IsPunctuator(text)) return false;
    lexer_.Next();
    return true;
  }
  void Expect(std::string_view text) {
    if (!Accept(text)) Fail("expected `" + std::string(text) + "`");
  }
  std::string Name() {
    if (lexer_.token() != Token::kName) {
      Fail("expected a name");
      return "";
    }
    std::string name(lexer_.text());
    lexer_.Next();
    return name;
  }

  bool Enter(int depth) {
    if (depth > kMaxGraphQlDepth) Fail("nested deeper than 64 levels");
    return ok();
  }

  void ParseDefinition() {
    if (IsPunctuator("{")) {
      Operation operation{.type = "query"};
      ParseSelections(1, &operation.root);
      operations_.push_back(std::move(operation));
    } else if (IsKeyword("query") || IsKeyword("mutation") || IsKeyword("subscription")) {
      Operation operation{.type = Name()};
      if (lexer_.token() == Token::kName) operation.name = Name();
      if (IsPunctuator("(")) ParseVariables();
      ParseDirectives(1);
      ParseSelections(1, &operation.root);
      operations_.push_back(std::move(operation));
    } else if (IsKeyword("fragment")) {
      ParseFragment();
    } else {
      Fail("expected an operation or a fragment");
    }
  }

  void ParseFragment() {
    Name();
    if (IsKeyword("on")) return Fail("a fragment cannot be named `on`");
    const std::string name = Name();
    ParseTypeCondition();
    ParseDirectives(1);
    Selections root;
    ParseSelections(1, &root);
    if (!fragments_.emplace(name, std::move(root)).second) Fail("two fragments `" + name + "`");
  }

  void ParseTypeCondition() {
    if (!IsKeyword("on")) return Fail("expected `on`");
    Name();
    Name();
  }

  void ParseVariables() {
    Expect("(");
    do {
      Expect("$");
      Name();
      Expect(":");
      ParseType(1);
      if (Accept("=")) ParseValue(1);
      ParseDirectives(1);
    } while (ok() && !IsPunctuator(")"));
    Expect(")");
  }

  void ParseType(int depth) {
    if (!Enter(depth)) return;
    if (Accept("[")) {
      ParseType(depth + 1);
      Expect("]");
    } else {
      Name();
    }
    Accept("!");
  }

  void ParseDirectives(int depth) {
    while (ok() && Accept("@")) {
      Name();
      if (IsPunctuator("(")) ParseArguments(depth);
    }
  }

  void ParseArguments(int depth) {
    Expect("(");
    do {
      Name();
      Expect(":");
      ParseValue(depth + 1);
    } while (ok() && !IsPunctuator(")"));
    Expect(")");
  }

  void ParseValue(int depth) {
    if (!Enter(depth)) return;
    const Token token = lexer_.token();
    if (token == Token::kName || token == Token::kNumber || token == Token::kString) {
      lexer_.Next();
    } else if (Accept("$")) {
      Name();
    } else if (Accept("[")) {
      while (ok() && !Accept("]")) ParseValue(depth + 1);
    } else if (Accept("{")) {
      while (ok() && !Accept("}")) {
        Name();
        Expect(":");
        ParseValue(depth + 1);
      }
    } else {
      Fail("expected a value");
    }
  }

  void ParseSelections(int depth, Selections* out) {
    if (!Enter(depth)) return;
    Expect("{");
    do {
      if (Accept("...")) {
        ParseSpread(depth, out);
      } else {
        ParseField(depth, out);
      }
    } while (ok() && !IsPunctuator("}"));
    Expect("}");
  }

  void ParseField(int depth, Selections* out) {
    std::string name = Name();
    if (Accept(":")) name = Name();  // what stood before is an alias
    out->fields.push_back(std::move(name));
    if (IsPunctuator("(")) ParseArguments(depth);
    ParseDirectives(depth);
    Selections below;
    if (ok() && IsPunctuator("{")) ParseSelections(depth + 1, &below);
    for (std::string& spread : below.spreads) spreads_below_.push_back(std::move(spread));
  }

  void ParseSpread(int depth, Selections* out) {
    if (lexer_.token() == Token::kName && !IsKeyword("on")) {
      out->spreads.push_back(Name());
      return ParseDirectives(depth);
    }
    if (IsKeyword("on")) ParseTypeCondition();
    ParseDirectives(depth);
    ParseSelections(depth + 1, out);
  }

  void CheckNames() {
    std::set<std::string> names;
    for (const Operation& operation : operations_) {
      if (!names.insert(operation.name).second) Fail("two operations of one name");
      if (operation.name.empty() && operations_.size() > 1) {
        Fail("an operation without a name beside others");
      }
    }
    for (const std::string& spread : spreads_below_) {
      if (fragments_.find(spread) == fragments_.end()) Fail("no fragment `" + spread + "`");
    }
  }

  // `visited`: the fragments whose fields are there already, or which are being resolved.
  void Resolve(const Selections& selections, int depth, std::set<std::string>* visited,
               std::set<std::string>* fields) {
    if (!Enter(depth)) return;
    fields->insert(selections.fields.begin(), selections.fields.end());
    for (const std::string& spread : selections.spreads) {
      const auto fragment = fragments_.find(spread);
      if (fragment == fragments_.end()) return Fail("no fragment `" + spread + "`");
      if (visited->insert(spread).second) Resolve(fragment->second, depth + 1, visited, fields);
    }
  }

  std::string_view document_;
  Lexer lexer_;
  std::string error_;
  std::vector<Operation> operations_;
  std::map<std::string, Selections> fragments_;
  std::vector<std::string> spreads_below_;
};

}  // namespace

Result<std::vector<GraphQlOperation>> ParseGraphQl(std::string_view document) {
  if (!IsValidUtf8(document)) return InvalidArgument("not a document of GraphQL: not UTF-8");
  if (document.find('\0') != std::string_view::npos) {
    return InvalidArgument("not a document of GraphQL: a NUL byte");
  }
  return Parser(document).Parse();
}

}  // namespace odyssey::egress
