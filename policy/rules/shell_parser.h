#ifndef ODYSSEY_POLICY_RULES_SHELL_PARSER_H_
#define ODYSSEY_POLICY_RULES_SHELL_PARSER_H_

// The reader behind SplitShell: a recursive descent over the characters of a POSIX shell line, with
// what bash adds. Loose on purpose: reserved words are skipped where the shell would accept them,
// so every command of an if, loop, case, group or function body is seen whatever its condition
// says.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "policy/rules/shell_split.h"

namespace odyssey::rules {

class ShellParser final {
 public:
  // Appends to `out`, borrowed. `depth`: how many texts this one is nested in.
  ShellParser(std::string_view text, int depth, ShellLine* out);

  // "missing closing quote" if the text ends inside quotes.
  Status Parse();

 private:
  enum class Stop { kEnd, kParenthesis, kCase };
  enum class Quotes { kOutside, kInside };

  struct Word {
    std::string text;
    bool quoted = false;
    // What probably stands where `text` has an unknown character: by its index. Restricts, and
    // allows nothing. kSplit separates words in it.
    std::vector<std::pair<size_t, std::string>> likely;
  };
  static constexpr char kSplit = '\x03';
  // The words that are likely in the place of `word`.
  static void AddLikely(const Word& word, std::vector<std::string>* words);
  struct HereDocument {
    std::string delimiter;
    bool strip_tabs = false;
    bool literal = false;
  };
  // A simple command while it is read.
  struct Pending {
    std::vector<std::string> words;
    std::vector<std::string> likely;  // the words, as far as they can be guessed
    bool guessed = false;             // they differ
    bool redirected = false;
    bool assigned = false;
    bool ampersand_redirect = false;  // "&>": dash ends the command there
    bool after_compound = false;      // the redirections of a group or loop
    bool empty() const { return words.empty() && !redirected && !assigned; }
  };

  // --- shell_parser.cc: commands ---
  enum class Part { kMore, kEnd, kListEnd };
  enum class ListEnd { kNone, kStop, kCaseStop };

  // Reads commands up to `stop`, which is consumed; true if that was the "esac" of a case.
  bool List(Stop stop);
  // Handles one operator between commands.
  ListEnd Operator(Stop stop);
  // True if the list ends here: an "esac".
  bool Command(Stop stop);
  Part CommandPart(Stop stop, Pending* command);
  void Parenthesis(Pending* command);
  bool FunctionHead(Pending* command);
  // Skips `word` if it is a reserved word, with what belongs to it.
  bool Reserved(const std::string& word, Pending* command);
  bool Assignment(Pending* command);
  bool AtRedirection() const;
  void Redirection(Pending* command);
  void HereDocumentHead();
  void ArrayValue();
  void Case();
  // True if there was one; false at "esac".
  bool CasePattern();
  void ForHeader();
  void Emit(Pending* command);
  void HereDocuments();
  void HereDocumentBody(const HereDocument& document);

  // --- shell_words.cc: words and expansions; also for the text of a here-document ---
  Word ReadWord();
  void Pattern(Word* word);
  static void BeginsWithDots(Word* word);
  void SingleQuoted(Word* word);
  void DoubleQuoted(Word* word);
  void Dollar(Quotes quotes, Word* word);
  // What the parameter likely expands to; empty: not known.
  std::string Parameter(Quotes quotes);
  void Arithmetic(size_t end);
  size_t ArithmeticEnd() const;
  // These return what the text likely expands to; empty: not known.
  std::string Substitution(Quotes quotes);
  std::string Backquoted(Quotes quotes);
  std::string AnsiQuoted();
  std::string LikelyOutput(size_t first_command, Quotes quotes) const;
  std::string LikelyBraces() const;
  static void AddExpansion(std::string likely, Word* word);
  void ExpandHereDocument();

  // --- the cursor ---
  bool AtEnd() const { return position_ >= text_.size(); }
  char Peek(size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  bool Take(std::string_view token);
  void SkipBlanks();
  void SkipBlankLines();
  void SkipComment();
  void Opaque(std::string_view why, RiskClass risk = RiskClass::kCodeExecution);
  // Gives up on the text: nothing after this is read.
  void Fail(Status status);
  void Missing() { Fail(InvalidArgument("missing closing quote")); }

  const std::string_view text_;
  const int depth_;
  int nesting_ = 0;
  size_t position_ = 0;
  Status status_;
  std::vector<HereDocument> here_documents_;
  ShellLine* const out_;
};

}  // namespace odyssey::rules

#endif  // ODYSSEY_POLICY_RULES_SHELL_PARSER_H_
