// Words, quotes and expansions of ShellParser.

#include <algorithm>
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

// The character of the escape whose letter is at *at, which is moved to its last character.
char AnsiEscape(std::string_view text, size_t* at) {
  const char letter = text[*at];
  const bool hex = letter == 'x' || letter == 'u' || letter == 'U';
  if (!hex && (letter < '0' || letter > '7')) {
    return letter == 'n' ? '\n' : letter == 't' ? '\t' : letter;
  }
  const std::string_view digits = hex ? "0123456789abcdef" : "01234567";
  const size_t most = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 3;
  size_t next = hex ? *at + 1 : *at;
  unsigned value = 0;
  for (size_t read = 0; read < most && next < text.size(); ++read, ++next) {
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(text[next])));
    const size_t digit = digits.find(lower);
    if (digit == digits.npos) break;
    value = value * static_cast<unsigned>(digits.size()) + static_cast<unsigned>(digit);
  }
  *at = next - 1;
  return static_cast<char>(value);
}

}  // namespace

ShellParser::Word ShellParser::ReadWord() {
  Word word;
  bool expands_to_rest = false;  // of [a-z] and {a,b} nothing that follows is literal
  while (!AtEnd()) {
    const char c = Peek();
    if ((c == '<' || c == '>') && Peek(1) == '(') {
      position_ += 2;
      Substitution(Quotes::kInside);
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
        AddExpansion(Backquoted(Quotes::kOutside), &word);
        break;
      case '*':
      case '?':
        Pattern(&word);
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
        if (plain) {
          word.text += '{';
        } else {
          AddExpansion(LikelyBraces(), &word);
        }
        ++position_;
        break;
      }
      default:
        word.text += c;
        ++position_;
    }
  }
  if (expands_to_rest) word.text.resize(word.text.find(kUnknown) + 1);
  BeginsWithDots(&word);
  while (!word.likely.empty() && word.likely.back().first >= word.text.size()) {
    word.likely.pop_back();
  }
  return word;
}

// At "*" or "?". "**" fits directories below each other where globstar is set, and none too.
void ShellParser::Pattern(Word* word) {
  const bool below = text_.substr(position_, 2) == "**";
  word->text += below ? kBelow : kGlob;
  position_ += below ? 2 : 1;
  if (below && Peek() == '/') ++position_;
}

// ".*" and ".?" fit "..".
void ShellParser::BeginsWithDots(Word* word) {
  for (size_t at = 0; at < word->text.size(); ++at) {
    const size_t end = std::min(word->text.find('/', at), word->text.size());
    const std::string_view name = std::string_view(word->text).substr(at, end - at);
    const bool dots = !name.empty() && name[0] == '.' && HasUnknown(name) &&
                      name.find_first_not_of(".\x02\x04") == name.npos;
    if (dots) word->text[at] = kUnknown;
    at = end;
  }
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
      AddExpansion(Backquoted(Quotes::kInside), word);
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
  std::string likely;
  if (next == '(') {
    position_ += 2;
    const size_t end = Peek() == '(' ? ArithmeticEnd() : std::string_view::npos;
    if (end != std::string_view::npos) {
      ++position_;
      Arithmetic(end);
    } else {
      likely = Substitution(quotes);
    }
  } else if (next == '{') {
    position_ += 2;
    likely = Parameter(quotes);
  } else if (next == '\'' && quotes == Quotes::kOutside) {
    ++position_;
    likely = AnsiQuoted();
    word->quoted = true;
  } else if (next == '"' && quotes == Quotes::kOutside) {
    position_ += 2;
    DoubleQuoted(word);
  } else if (IsNameStart(next)) {
    const size_t start = ++position_;
    while (IsNameChar(Peek())) ++position_;
    if (text_.substr(start, position_ - start) == "IFS") likely = kSplit;
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
  AddExpansion(std::move(likely), word);
}

void ShellParser::AddExpansion(std::string likely, Word* word) {
  if (!likely.empty()) word->likely.emplace_back(word->text.size(), std::move(likely));
  word->text += kUnknown;
}

void ShellParser::AddLikely(const Word& word, std::vector<std::string>* words) {
  std::string text;
  size_t from = 0;
  for (const auto& [at, likely] : word.likely) {
    text.append(word.text, from, at - from).append(likely);
    from = at + 1;
  }
  text.append(word.text, from);
  if (text.find(kSplit) == std::string::npos) return words->push_back(std::move(text));
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(kSplit, at), text.size());
    if (end > at) words->push_back(text.substr(at, end - at));
    at = end + 1;
  }
}

// After "${". Where dash and bash differ on quotes inside, the text is opaque.
std::string ShellParser::Parameter(Quotes quotes) {
  if (++nesting_ > kMaxShellDepth) {
    Fail(OkStatus());
    return "";
  }
  const size_t start = position_;
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
  const std::string_view inside = text_.substr(start, std::min(position_, text_.size()) - start);
  ++position_;
  --nesting_;
  if (inside == "IFS") return {kSplit};
  const size_t dash = inside.find_first_of("-=");  // ${X:-text}
  if (dash == inside.npos || dash == 0 || !IsNameStart(inside[0])) return "";
  const std::string_view text = inside.substr(dash + 1);
  const bool plain = text.find_first_of("$`\\\"'{*?[") == text.npos;
  return plain ? std::string(text) : "";
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
std::string ShellParser::Substitution(Quotes quotes) {
  if (Peek() == '\\' && Peek(1) == '\n') Opaque("a line continuation inside an operator");
  std::vector<HereDocument> outer;
  outer.swap(here_documents_);
  const size_t first = out_->commands.size();
  List(Stop::kParenthesis);
  if (!here_documents_.empty()) Opaque("a here-document that its $(…) does not hold");
  here_documents_.swap(outer);
  return LikelyOutput(first, quotes);
}

// What `echo TEXT` alone writes.
std::string ShellParser::LikelyOutput(size_t first_command, Quotes quotes) const {
  const std::vector<SimpleCommand>& commands = out_->commands;
  if (commands.size() != first_command + 1) return "";
  const SimpleCommand& only = commands.back();
  if (only.kind != CommandKind::kRuns || only.words.empty()) return "";
  if (only.words[0] != "echo" && only.words[0] != "printf") return "";
  std::string text;
  for (size_t i = 1; i < only.words.size(); ++i) {
    if (HasUnknown(only.words[i])) return "";
    if (i > 1) text += quotes == Quotes::kInside ? ' ' : kSplit;
    text += only.words[i];
  }
  if (quotes == Quotes::kOutside) std::replace(text.begin(), text.end(), ' ', kSplit);
  return text;
}

// At the "{" of {a,b} that holds plain text alone and ends its word.
std::string ShellParser::LikelyBraces() const {
  const size_t end = text_.find('}', position_);
  if (end == std::string_view::npos || !EndsWord(end + 1 < text_.size() ? text_[end + 1] : '\0')) {
    return "";
  }
  std::string text(text_.substr(position_ + 1, end - position_ - 1));
  if (text.find_first_of("{$`\\\"' \t\n*?[") != std::string::npos) return "";
  std::replace(text.begin(), text.end(), ',', kSplit);
  return text;
}

std::string ShellParser::Backquoted(Quotes quotes) {
  std::string inner;
  for (size_t i = position_ + 1; i < text_.size(); ++i) {
    const char c = text_[i];
    if (c == '`') {
      position_ = i + 1;
      const size_t first = out_->commands.size();
      if (depth_ + nesting_ >= kMaxShellDepth) {
        Fail(OkStatus());
        return "";
      }
      const Status status = ShellParser(inner, depth_ + nesting_ + 1, out_).Parse();
      if (!status.ok()) Fail(status);
      return LikelyOutput(first, quotes);
    }
    const std::string_view escaped = quotes == Quotes::kInside ? "`\\$\"" : "`\\$";
    if (c == '\\' && i + 1 < text_.size() && escaped.find(text_[i + 1]) != escaped.npos) {
      inner += text_[++i];
    } else {
      inner += c;
    }
  }
  Missing();
  return "";
}

// At the quote of $'…'. To dash it is a "$" and single quotes: with an escaped quote inside, the
// two disagree on where it ends.
std::string ShellParser::AnsiQuoted() {
  std::string text;
  for (size_t i = position_ + 1; i < text_.size(); ++i) {
    if (text_[i] == '\'') {
      position_ = i + 1;
      return text;
    }
    if (text_[i] != '\\' || i + 1 >= text_.size()) {
      text += text_[i];
      continue;
    }
    if (text_[++i] == '\'') Opaque("an escaped quote in $'…'");
    text += AnsiEscape(text_, &i);
  }
  Missing();
  return "";
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
