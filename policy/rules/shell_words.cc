// Words, quotes and expansions of ShellParser.

#include <cctype>

#include "policy/rules/shell_parser.h"
#include "policy/rules/shell_wrappers.h"

namespace odyssey::rules {
namespace {

bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool EndsWord(char c) {
  return c == '\0' || std::string_view(" \t\n;&|()<>").find(c) != std::string_view::npos;
}

}  // namespace

ShellParser::Word ShellParser::ReadWord() {
  Word word;
  bool expands_to_rest = false;  // of [a-z] and {a,b} nothing that follows is literal
  while (!AtEnd()) {
    const char c = Peek();
    if ((c == '<' || c == '>') && Peek(1) == '(') {
      position_ += 2;
      Substitution();
      word.text += kUnknown;
      continue;
    }
    if (EndsWord(c)) break;
    switch (c) {
      case '\\':
        ++position_;
        if (Peek() == '\n' && !AtEnd()) {
          ++position_;
          break;
        }
        word.quoted = true;
        word.text += AtEnd() ? '\\' : text_[position_++];
        break;
      case '\'':
        SingleQuoted(&word);
        break;
      case '"':
        ++position_;
        DoubleQuoted(&word);
        break;
      case '$':
        Dollar(Quotes::kOutside, &word);
        break;
      case '`':
        Backquoted(Quotes::kOutside);
        word.text += kUnknown;
        break;
      case '*':
      case '?':
        word.text += kUnknown;
        ++position_;
        break;
      case '[': {
        const bool test = (word.text.empty() && (EndsWord(Peek(1)) || Peek(1) == '[')) ||
                          (word.text == "[" && EndsWord(Peek(1)));
        if (!test) expands_to_rest = true;
        word.text += test ? '[' : kUnknown;
        ++position_;
        break;
      }
      case '{': {
        const bool plain = Peek(1) == '}' || (word.text.empty() && EndsWord(Peek(1)));
        if (!plain) expands_to_rest = true;
        word.text += plain ? '{' : kUnknown;
        ++position_;
        break;
      }
      default:
        word.text += c;
        ++position_;
    }
  }
  if (expands_to_rest) word.text.resize(word.text.find(kUnknown) + 1);
  return word;
}

void ShellParser::SingleQuoted(Word* word) {
  const size_t end = text_.find('\'', position_ + 1);
  if (end == std::string_view::npos) return Missing();
  word->text += text_.substr(position_ + 1, end - position_ - 1);
  word->quoted = true;
  position_ = end + 1;
}

// After the opening quote.
void ShellParser::DoubleQuoted(Word* word) {
  word->quoted = true;
  while (!AtEnd()) {
    const char c = Peek();
    if (c == '"') {
      ++position_;
      return;
    }
    if (c == '$') {
      Dollar(Quotes::kInside, word);
    } else if (c == '`') {
      Backquoted(Quotes::kInside);
      word->text += kUnknown;
    } else if (c == '\\' && std::string_view("$`\"\\\n").find(Peek(1)) != std::string_view::npos) {
      if (Peek(1) != '\n') word->text += Peek(1);
      position_ += 2;
    } else {
      word->text += c;
      ++position_;
    }
  }
  Missing();
}

void ShellParser::Dollar(Quotes quotes, Word* word) {
  const char next = Peek(1);
  if (next == '(') {
    position_ += 2;
    const size_t end = Peek() == '(' ? ArithmeticEnd() : std::string_view::npos;
    if (end != std::string_view::npos) {
      ++position_;
      Arithmetic(end);
    } else {
      Substitution();
    }
  } else if (next == '{') {
    position_ += 2;
    Parameter(quotes);
  } else if (next == '\'' && quotes == Quotes::kOutside) {
    ++position_;
    AnsiQuoted();
    word->quoted = true;
  } else if (next == '"' && quotes == Quotes::kOutside) {
    position_ += 2;
    DoubleQuoted(word);
  } else if (IsNameStart(next)) {
    ++position_;
    while (IsNameChar(Peek())) ++position_;
  } else if (std::isdigit(static_cast<unsigned char>(next)) != 0 ||
             (next != '\0' && std::string_view("@*#?-$!").find(next) != std::string_view::npos)) {
    position_ += 2;
  } else {
    if (next == '[') Opaque("$[…]");  // arithmetic in bash, text in dash
    if (next == '\\' && Peek(2) == '\n') Opaque("a line continuation inside an operator");
    word->text += '$';
    ++position_;
    return;
  }
  word->text += kUnknown;
}

// After "${". Where dash and bash differ on quotes inside, the text is opaque.
void ShellParser::Parameter(Quotes quotes) {
  if (++nesting_ > kMaxShellDepth) return Fail(OkStatus());
  Word ignored;
  while (!AtEnd() && Peek() != '}') {
    const char c = Peek();
    if (c == '$') {
      Dollar(quotes, &ignored);
    } else if (c == '`') {
      Backquoted(quotes);
    } else if (c == '\\') {
      position_ += 2;
    } else if ((c == '"' || c == '\'') && quotes == Quotes::kInside) {
      Opaque("quotes inside \"${…}\"");
      ++position_;
    } else if (c == '"') {
      ++position_;
      DoubleQuoted(&ignored);
    } else if (c == '\'') {
      SingleQuoted(&ignored);
    } else {
      if (c == '@' && IsNameChar(Peek(1)) && Peek(2) == '}') Opaque("${…@…}");  // runs the value
      ++position_;
    }
  }
  if (AtEnd()) Opaque("an unfinished ${…}");
  ++position_;
  --nesting_;
}

// At the second "(" of "$((": where its "))" begins, npos if this is $( (…) … ) instead.
size_t ShellParser::ArithmeticEnd() const {
  int open = 0;
  for (size_t i = position_ + 1; i < text_.size(); ++i) {
    if (text_[i] == '(') ++open;
    if (text_[i] != ')') continue;
    if (open == 0) return i + 1 < text_.size() && text_[i + 1] == ')' ? i : std::string_view::npos;
    --open;
  }
  return std::string_view::npos;
}

void ShellParser::Arithmetic(size_t end) {
  if (++nesting_ > kMaxShellDepth) return Fail(OkStatus());
  Word ignored;
  while (position_ < end) {
    const char c = Peek();
    if (c == '$') {
      Dollar(Quotes::kInside, &ignored);
    } else if (c == '`') {
      Backquoted(Quotes::kInside);
    } else {
      if (c == '"' || c == '\'' || c == '\\') Opaque("quotes inside $((…))");
      ++position_;
    }
  }
  if (position_ != end) Opaque("$((…))");
  position_ += 2;
  --nesting_;
}

// After "$(", "<(" or ">(".
void ShellParser::Substitution() {
  if (Peek() == '\\' && Peek(1) == '\n') Opaque("a line continuation inside an operator");
  std::vector<HereDocument> outer;
  outer.swap(here_documents_);
  List(Stop::kParenthesis);
  if (!here_documents_.empty()) Opaque("a here-document that its $(…) does not hold");
  here_documents_.swap(outer);
}

void ShellParser::Backquoted(Quotes quotes) {
  std::string inner;
  for (size_t i = position_ + 1; i < text_.size(); ++i) {
    const char c = text_[i];
    if (c == '`') {
      position_ = i + 1;
      if (depth_ + nesting_ >= kMaxShellDepth) return Fail(OkStatus());
      const Status status = ShellParser(inner, depth_ + nesting_ + 1, out_).Parse();
      if (!status.ok()) Fail(status);
      return;
    }
    const std::string_view escaped = quotes == Quotes::kInside ? "`\\$\"" : "`\\$";
    if (c == '\\' && i + 1 < text_.size() && escaped.find(text_[i + 1]) != escaped.npos) {
      inner += text_[++i];
    } else {
      inner += c;
    }
  }
  Missing();
}

// At the quote of $'…'. To dash it is a "$" and single quotes: with an escaped quote inside, the
// two disagree on where it ends.
void ShellParser::AnsiQuoted() {
  for (size_t i = position_ + 1; i < text_.size(); ++i) {
    if (text_[i] == '\'') {
      position_ = i + 1;
      return;
    }
    if (text_[i] == '\\' && i + 1 < text_.size()) {
      if (text_[i + 1] == '\'') Opaque("an escaped quote in $'…'");
      ++i;
    }
  }
  Missing();
}

// The text is a here-document's: expansions count, quotes do not.
void ShellParser::ExpandHereDocument() {
  Word ignored;
  while (!AtEnd()) {
    if (Peek() == '$') {
      Dollar(Quotes::kInside, &ignored);
    } else if (Peek() == '`') {
      Backquoted(Quotes::kInside);
    } else {
      position_ += Peek() == '\\' ? 2 : 1;
    }
  }
}

}  // namespace odyssey::rules
