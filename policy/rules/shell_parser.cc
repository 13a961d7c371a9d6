// Commands, compound commands and redirections of ShellParser.

#include "policy/rules/shell_parser.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

#include "policy/rules/shell_wrappers.h"

namespace odyssey::rules {
namespace {

constexpr size_t kMaxCommands = 4096;

// Skipped at the start of a command; what follows is at the start of a command too.
constexpr auto kPlainReserved = std::to_array<std::string_view>(
    {"if", "then", "elif", "else", "while", "until", "do", "{", "!"});
constexpr auto kCompoundEnds = std::to_array<std::string_view>({"fi", "done", "}", "esac"});

// What follows an operator of redirection.
enum class Target { kFile, kFileOrDescriptor, kText };
struct Redirect {
  std::string_view token;
  Target target;
  bool writes;
};

// A token before those that it begins with.
constexpr auto kRedirects = std::to_array<Redirect>({{"&>>", Target::kFile, true},
                                                     {"&>", Target::kFile, true},
                                                     {"<<<", Target::kText, false},
                                                     {"<<", Target::kText, false},
                                                     {"<>", Target::kFile, true},
                                                     {"<&", Target::kFileOrDescriptor, false},
                                                     {">>", Target::kFile, true},
                                                     {">&", Target::kFileOrDescriptor, true},
                                                     {">|", Target::kFile, true},
                                                     {"<", Target::kFile, false},
                                                     {">", Target::kFile, true}});

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

ShellParser::ShellParser(std::string_view text, int depth, ShellLine* out)
    : text_(text), depth_(depth), out_(out) {}

Status ShellParser::Parse() {
  List(Stop::kEnd);
  return status_;
}

bool ShellParser::List(Stop stop) {
  if (depth_ + ++nesting_ > kMaxShellDepth) Fail(OkStatus());
  ListEnd end = ListEnd::kNone;
  while (end == ListEnd::kNone) {
    SkipBlanks();  // but not those after the end: they separate words
    if (AtEnd()) break;
    if (std::string_view("\n;|)#").find(Peek()) != std::string_view::npos ||
        (Peek() == '&' && Peek(1) != '>')) {
      end = Operator(stop);
    } else if (Command(stop)) {
      end = ListEnd::kCaseStop;
    }
  }
  if (end == ListEnd::kNone && stop != Stop::kEnd) Opaque("an unfinished command");
  --nesting_;
  return end == ListEnd::kCaseStop;
}

ShellParser::ListEnd ShellParser::Operator(Stop stop) {
  if (Peek() == '#') {
    SkipComment();
  } else if (Take("\n")) {
    HereDocuments();
  } else if (stop == Stop::kCase && (Take(";;&") || Take(";;") || Take(";&"))) {
    return ListEnd::kStop;
  } else if (Take(")")) {
    if (stop == Stop::kParenthesis) return ListEnd::kStop;
    Opaque("an unbalanced parenthesis");
  } else {
    ++position_;
  }
  return ListEnd::kNone;
}

bool ShellParser::Command(Stop stop) {
  Pending command;
  Part part = Part::kMore;
  while (part == Part::kMore) part = CommandPart(stop, &command);
  Emit(&command);
  return part == Part::kListEnd;
}

ShellParser::Part ShellParser::CommandPart(Stop stop, Pending* command) {
  SkipBlanks();
  const char c = Peek();
  if (AtEnd() || std::string_view("\n;|)").find(c) != std::string_view::npos) return Part::kEnd;
  if (c == '#') {
    SkipComment();
    return Part::kEnd;
  }
  if (AtRedirection()) {
    Redirection(command);
    return Part::kMore;
  }
  if (c == '&') return Part::kEnd;
  if (c == '(') {
    if (FunctionHead(command)) return Part::kEnd;
    Parenthesis(command);
    return Part::kMore;
  }
  if (command->words.empty() && Assignment(command)) return Part::kMore;

  const bool first = command->empty();
  const Word word = ReadWord();
  if (word.text.empty() && !word.quoted) return Part::kMore;  // only a line continuation
  if (first && !word.quoted) {
    if (stop == Stop::kCase && word.text == "esac") return Part::kListEnd;
    if (Reserved(word.text, command)) return Part::kMore;
  }
  if (command->ampersand_redirect) Opaque("words after &>");
  command->words.push_back(word.text);
  AddLikely(word, &command->likely);
  command->guessed = command->guessed || !word.likely.empty();
  return Part::kMore;
}

// At "(": a subshell, or something that only bash has a meaning for.
void ShellParser::Parenthesis(Pending* command) {
  if (!command->empty()) Opaque("a parenthesis inside a command");
  if (!command->words.empty()) command->words.push_back(std::string(1, kUnknown));  // @(a|b)
  if (Peek(1) == '(') Opaque("((…))");  // arithmetic in bash, subshells in dash
  ++position_;
  List(Stop::kParenthesis);
  command->after_compound = true;
}

// NAME ( ): its body is read as the next command.
bool ShellParser::FunctionHead(Pending* command) {
  if (command->words.size() != 1 || command->redirected || command->assigned) return false;
  const size_t start = position_++;
  SkipBlanks();
  if (!Take(")")) {
    position_ = start;
    return false;
  }
  command->words.clear();
  command->likely.clear();
  return true;
}

bool ShellParser::Reserved(const std::string& word, Pending* command) {
  if (std::find(kPlainReserved.begin(), kPlainReserved.end(), word) != kPlainReserved.end()) {
    return true;
  }
  if (std::find(kCompoundEnds.begin(), kCompoundEnds.end(), word) != kCompoundEnds.end()) {
    command->after_compound = true;
    return true;
  }
  if (word == "case") {
    Case();
    command->after_compound = true;
    return true;
  }
  if (word == "for" || word == "select") {
    ForHeader();
    return true;
  }
  if (word == "function") {
    SkipBlanks();
    ReadWord();
    SkipBlanks();
    if (Take("(")) {
      SkipBlanks();
      Take(")");
    }
    return true;
  }
  if (word == "coproc") {
    Opaque("coproc");
    return true;
  }
  if (word == "time") {  // with options it is the program, not bash's reserved word
    SkipBlanks();
    if (Peek() == '-') return false;
    out_->commands.push_back({CommandKind::kWrapper, {"time"}, {}});
    return true;
  }
  return false;
}

bool ShellParser::Assignment(Pending* command) {
  size_t at = position_;
  std::string name;
  const auto skip_continuations = [&] {
    while (text_.substr(at, 2) == "\\\n") at += 2;
  };
  for (skip_continuations(); at < text_.size(); skip_continuations()) {
    const char c = text_[at];
    if (std::isalpha(static_cast<unsigned char>(c)) == 0 && c != '_' &&
        (name.empty() || !IsDigit(c))) {
      break;
    }
    name += c;
    ++at;
  }
  if (name.empty()) return false;
  if (at < text_.size() && text_[at] == '+') ++at;
  skip_continuations();
  if (at >= text_.size() || text_[at] != '=') return false;

  position_ = at + 1;
  command->assigned = true;
  if (ChangesPrograms(name)) Opaque("setting " + name);
  if (MovesDirectories(name)) out_->directories_by_variable = true;
  if (Take("(")) {
    ArrayValue();
  } else {
    ReadWord();
  }
  return true;
}

void ShellParser::ArrayValue() {
  for (SkipBlankLines(); !AtEnd() && Peek() != ')'; SkipBlankLines()) {
    const size_t start = position_;
    ReadWord();
    if (position_ == start) {
      Opaque("an operator inside NAME=(…)");
      ++position_;
    }
  }
  Take(")");
}

bool ShellParser::AtRedirection() const {
  size_t digits = 0;
  while (IsDigit(Peek(digits))) ++digits;
  const char c = Peek(digits);
  if (c == '&') return digits == 0 && Peek(1) == '>';
  return (c == '<' || c == '>') && (digits > 0 || Peek(1) != '(');
}

void ShellParser::Redirection(Pending* command) {
  while (IsDigit(Peek())) ++position_;
  if ((Peek() == '<' || Peek() == '>') && Peek(1) == '(') return;  // a process substitution
  command->redirected = true;
  const Redirect* found = nullptr;
  for (const Redirect& redirect : kRedirects) {
    if (found == nullptr && Take(redirect.token)) found = &redirect;
  }
  if (found->token == "<<") return HereDocumentHead();
  if (found->token[0] == '&') command->ampersand_redirect = true;
  if (found->token.size() == 1 && Peek() == '\\' && Peek(1) == '\n') {
    Opaque("a line continuation inside an operator");
  }
  SkipBlanks();
  const Word word = ReadWord();
  if (found->target == Target::kText || word.text.empty()) return;
  if (found->target == Target::kFileOrDescriptor &&
      word.text.find_first_not_of("0123456789-") == std::string::npos) {
    return;
  }
  out_->files.push_back({found->writes ? FileAccess::kWrite : FileAccess::kRead, word.text,
                         std::string(found->token), true});
  if (found->token == "<>") out_->files.push_back({FileAccess::kRead, word.text, "<>", true});
}

void ShellParser::HereDocumentHead() {
  HereDocument document;
  document.strip_tabs = Take("-");
  SkipBlanks();
  const Word delimiter = ReadWord();
  document.delimiter = delimiter.text;
  document.literal = delimiter.quoted;
  if (delimiter.text.find('\n') != std::string::npos || HasUnknown(delimiter.text)) {
    Opaque("a here-document whose end is not plain");
  }
  here_documents_.push_back(std::move(document));
}

// After a newline: the bodies of the here-documents that the line before it announced.
void ShellParser::HereDocuments() {
  std::vector<HereDocument> documents;
  documents.swap(here_documents_);
  for (const HereDocument& document : documents) HereDocumentBody(document);
}

void ShellParser::HereDocumentBody(const HereDocument& document) {
  std::string body;
  bool found = false;
  while (!AtEnd() && !found) {
    const size_t end = std::min(text_.find('\n', position_), text_.size());
    std::string_view line = text_.substr(position_, end - position_);
    position_ = end + 1;
    while (document.strip_tabs && !line.empty() && line.front() == '\t') line.remove_prefix(1);
    found = line == document.delimiter;
    if (!found) body.append(line).append("\n");
  }
  if (!found) Opaque("a here-document without its end");
  if (document.literal) return;
  if (body.find("\\\n") != std::string::npos) Opaque("a line continuation in a here-document");
  if (depth_ + nesting_ >= kMaxShellDepth) return Fail(OkStatus());
  ShellParser inner(body, depth_ + nesting_ + 1, out_);
  inner.ExpandHereDocument();
  if (!inner.status_.ok()) Fail(inner.status_);
}

// After "case".
void ShellParser::Case() {
  SkipBlanks();
  ReadWord();
  SkipBlankLines();
  if (ReadWord().text != "in") return Opaque("an unfinished case");
  while (CasePattern()) {
    if (List(Stop::kCase)) return;
  }
}

bool ShellParser::CasePattern() {
  SkipBlankLines();
  bool may_end = !Take("(");
  while (!AtEnd()) {
    SkipBlanks();
    const Word word = ReadWord();
    if (may_end && !word.quoted && word.text == "esac") return false;
    may_end = false;
    SkipBlanks();
    if (Take(")")) return true;
    if (!Take("|")) break;
  }
  Opaque("a case pattern that is not plain");
  return false;
}

// After "for" or "select": NAME [in WORD …], as far as its end of line.
void ShellParser::ForHeader() {
  SkipBlanks();
  if (Peek() == '(') return Opaque("for ((…))");
  ReadWord();
  SkipBlankLines();
  const size_t before = position_;
  if (ReadWord().text != "in") {
    position_ = before;
    return;
  }
  for (SkipBlanks(); !AtEnd() && Peek() != ';' && Peek() != '\n'; SkipBlanks()) {
    const size_t start = position_;
    if (Peek() != '#') ReadWord();
    if (position_ == start) return;
  }
}

void ShellParser::Emit(Pending* command) {
  if (command->empty()) return;
  if (out_->commands.size() > kMaxCommands) return Fail(OkStatus());
  if (command->guessed && !command->likely.empty()) {
    ShellLine likely;
    Unwrap(std::move(command->likely), depth_ + nesting_, &likely);
    for (SimpleCommand& each : likely.commands) {
      if (each.kind == CommandKind::kOpaque) continue;
      each.kind = CommandKind::kGuess;
      out_->commands.push_back(std::move(each));
    }
    std::move(likely.files.begin(), likely.files.end(), std::back_inserter(out_->files));
  }
  if (!command->words.empty()) {
    Unwrap(std::move(command->words), depth_ + nesting_, out_);
  } else if (command->assigned || !command->after_compound) {
    out_->commands.push_back({CommandKind::kRuns, {}, {}});
  }
}

bool ShellParser::Take(std::string_view token) {
  if (AtEnd() || text_.substr(position_, token.size()) != token) return false;
  position_ += token.size();
  return true;
}

void ShellParser::SkipBlanks() {
  while (Peek() == ' ' || Peek() == '\t' || (Peek() == '\\' && Peek(1) == '\n')) {
    position_ += Peek() == '\\' ? 2 : 1;
  }
}

void ShellParser::SkipBlankLines() {
  for (SkipBlanks(); Peek() == '\n' || Peek() == '#'; SkipBlanks()) {
    if (Peek() == '#') {
      SkipComment();
    } else {
      ++position_;
      HereDocuments();
    }
  }
}

// Up to the newline.
void ShellParser::SkipComment() { position_ = std::min(text_.find('\n', position_), text_.size()); }

void ShellParser::Opaque(std::string_view why, RiskClass risk) { AddOpaque(why, risk, out_); }

void ShellParser::Fail(Status status) {
  if (status.ok()) Opaque("commands nested too deep, or too many", RiskClass::kUnknown);
  if (status_.ok()) status_ = std::move(status);
  position_ = text_.size();
}

}  // namespace odyssey::rules
