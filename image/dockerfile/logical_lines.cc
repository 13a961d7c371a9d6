#include "image/dockerfile/logical_lines.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "image/dockerfile/word.h"

namespace odyssey::dockerfile {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr size_t kMaxHeredocs = 64;  // of one instruction

std::string_view TrimLeft(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

std::string_view Trim(std::string_view text) {
  text = TrimLeft(text);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string Capitals(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(toupper(static_cast<unsigned char>(c)));
  return out;
}

std::string Small(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
  return out;
}

// Lines one after the other, without their ends.
class LineReader final {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  std::optional<std::string_view> Next() {
    if (rest_.empty()) return std::nullopt;
    const size_t end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++number_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }
  std::optional<std::string_view> Peek() const { return LineReader(*this).Next(); }
  // Of the line that Next returned.
  int number() const { return number_; }

 private:
  std::string_view rest_;
  int number_ = 0;
};

struct Directive {
  std::string name;
  std::string value;
};

// "# name=value".
std::optional<Directive> DirectiveOf(std::string_view line) {
  line = TrimLeft(line);
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(1);
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view name = Trim(line.substr(0, equals));
  const bool good = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
  if (!good) return std::nullopt;
  return Directive{Small(name), std::string(Trim(line.substr(equals + 1)))};
}

// Those at the top. An unknown one is a comment, as it is to Docker.
void ReadDirectives(LineReader* lines, char* escape, Problems* problems) {
  bool escape_said = false, syntax_said = false;
  for (std::optional<std::string_view> line; (line = lines->Peek());) {
    const std::optional<Directive> directive = DirectiveOf(*line);
    if (!directive) return;
    lines->Next();
    const int number = lines->number();
    if (directive->name == "escape") {
      if (std::exchange(escape_said, true)) problems->push_back({number, "escape: is said twice"});
      if (directive->value == "\\" || directive->value == "`") {
        *escape = directive->value[0];
      } else {
        problems->push_back({number, "escape: expected \\ or `"});
      }
    } else if (directive->name == "syntax") {
      if (std::exchange(syntax_said, true)) problems->push_back({number, "syntax: is said twice"});
      if (!IsStandardSyntax(directive->value)) {
        problems->push_back({number, "syntax " + directive->value +
                                         ": no other frontend than docker/dockerfile is known"});
      }
    }
  }
}

// Whether the line goes on in the next one; if so without what says it. Two escapes are none.
bool TakeContinuation(std::string_view* line, char escape) {
  const std::string_view text = line->substr(0, line->find_last_not_of(kBlanks) + 1);
  if (!text.ends_with(escape)) return false;
  if (text.size() > 1 && text[text.size() - 2] == escape) return false;
  *line = text.substr(0, text.size() - 1);
  return true;
}

// "<<EOF", "3<<-'EOF'": the delimiter is not empty.
std::optional<Heredoc> HeredocOf(const std::string& word, char escape, bool* tabs) {
  const size_t start = word.find("<<");
  if (start == std::string::npos || word.find('<', start + 2) != std::string::npos) {
    return std::nullopt;
  }
  for (size_t i = 0; i < start; ++i) {
    if (isdigit(static_cast<unsigned char>(word[i])) == 0) return std::nullopt;
  }
  std::string delimiter = word.substr(start + 2);
  *tabs = delimiter.starts_with('-');
  if (*tabs) delimiter.erase(0, 1);
  if (delimiter.empty()) return std::nullopt;
  const bool quoted = delimiter.find_first_of("'\"") != std::string::npos ||
                      delimiter.find(escape) != std::string::npos;
  Result<std::string> name =
      Expand(delimiter, escape, [](const std::string&) { return std::nullopt; });
  if (!name.ok() || name->empty()) return std::nullopt;
  return Heredoc{*std::move(name), word, {}, !quoted};
}

bool TakesHeredocs(const std::string& keyword) {
  return keyword == "RUN" || keyword == "COPY" || keyword == "ADD";
}

// The lines up to the delimiter.
bool ReadContent(LineReader* lines, bool tabs, Heredoc* heredoc) {
  while (std::optional<std::string_view> line = lines->Next()) {
    if (tabs) line->remove_prefix(std::min(line->find_first_not_of('\t'), line->size()));
    if (*line == heredoc->name) return true;
    heredoc->content += *line;
    heredoc->content += '\n';
  }
  return false;
}

void ReadHeredocs(LineReader* lines, char escape, LogicalLine* out, Problems* problems) {
  if (!TakesHeredocs(out->keyword) || out->rest.starts_with('[')) return;
  for (const std::string& word : SplitWords(out->rest, escape)) {
    bool tabs = false;
    std::optional<Heredoc> heredoc = HeredocOf(word, escape, &tabs);
    if (!heredoc) continue;
    if (out->heredocs.size() == kMaxHeredocs) {
      problems->push_back({out->line, out->keyword + ": has too many here-documents"});
      return;
    }
    if (!ReadContent(lines, tabs, &*heredoc)) {
      problems->push_back({out->line, out->keyword + " " + word + ": no line is " + heredoc->name});
    }
    out->heredocs.push_back(*std::move(heredoc));
  }
}

bool IsComment(std::string_view line) { return TrimLeft(line).starts_with('#'); }

}  // namespace

bool IsStandardSyntax(std::string_view name) {
  constexpr std::string_view kName = "docker/dockerfile";
  const size_t at = name.find('@');
  name = name.substr(0, at);
  const size_t slash = name.rfind('/');
  const size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && slash != std::string_view::npos && colon > slash) {
    name = name.substr(0, colon);
  }
  return name == kName || (name.ends_with(kName) && name[name.size() - kName.size() - 1] == '/' &&
                           std::count(name.begin(), name.end(), '/') == 2);
}

LogicalLines SplitLogicalLines(std::string_view text, Problems* problems) {
  LogicalLines out;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  LineReader lines(text);
  ReadDirectives(&lines, &out.escape, problems);
  while (std::optional<std::string_view> line = lines.Next()) {
    if (Trim(*line).empty() || IsComment(*line)) continue;
    const int number = lines.number();
    std::string_view part = TrimLeft(*line);
    std::string whole;
    while (TakeContinuation(&part, out.escape)) {
      whole += part;
      part = {};
      // Comments and empty lines between lines of one instruction are no part of it.
      std::optional<std::string_view> next;
      do {
        next = lines.Next();
      } while (next && (Trim(*next).empty() || IsComment(*next)));
      if (!next) break;
      part = *next;
    }
    whole += part;
    const std::string_view trimmed = Trim(whole);
    const size_t space = trimmed.find_first_of(kBlanks);
    LogicalLine logical{number, Capitals(trimmed.substr(0, space)), {}, {}};
    if (space != std::string_view::npos) logical.rest = TrimLeft(trimmed.substr(space));
    ReadHeredocs(&lines, out.escape, &logical, problems);
    if (!logical.keyword.empty()) out.lines.push_back(std::move(logical));
  }
  return out;
}

}  // namespace odyssey::dockerfile
