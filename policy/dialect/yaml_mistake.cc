#include "policy/dialect/yaml_mistake.h"

#include <algorithm>
#include <vector>

namespace odyssey::dialect {
namespace {

constexpr std::string_view kBlank = " \t\r";

struct Line {
  int number = 0;
  std::string_view indent;
  std::string_view text;  // after the indent, without blanks at the end
};

// The lines up to `last` that are neither blank nor a comment.
std::vector<Line> LinesUpTo(std::string_view text, int last) {
  std::vector<Line> lines;
  for (int number = 1; number <= last && !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t first = line.find_first_not_of(kBlank);
    if (first == std::string_view::npos || line[first] == '#') continue;
    const size_t size = line.find_last_not_of(kBlank) + 1 - first;
    lines.push_back({number, line.substr(0, first), line.substr(first, size)});
  }
  return lines;
}

std::string LineName(const Line& line) { return "line " + std::to_string(line.number); }

// How many keys a line holds outside of quotes: ": ", or ":" at its end.
int CountKeys(std::string_view line) {
  int keys = 0;
  char quote = '\0';
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == ':' && (i + 1 == line.size() || line[i + 1] == ' ')) {
      ++keys;
    }
  }
  return keys;
}

bool IsItem(const Line& line) { return line.text == "-" || line.text.substr(0, 2) == "- "; }

std::string Indented(const Line& at, const Line& before) {
  return "indented by " + std::to_string(at.indent.size()) + ", where " + LineName(before) +
         " is by " + std::to_string(before.indent.size()) +
         ": the keys of one map, and the items of one list, begin in the same column";
}

// Whether a line goes back to a column in which none before it begins.
bool GoesBackToNowhere(const std::vector<Line>& lines) {
  const size_t indent = lines.back().indent.size();
  const auto same = [&](const Line& line) { return line.indent.size() == indent; };
  return lines.size() > 1 && indent < lines[lines.size() - 2].indent.size() &&
         std::none_of(lines.begin(), lines.end() - 1, same);
}

std::string Misplaced(const Line& at, const Line* before) {
  if (at.text[0] == '-' && !IsItem(at)) return "`-` of a list needs a space after it";
  if (CountKeys(at.text) > 1) return "a second `: ` in one line: put the value in quotes";
  if (CountKeys(at.text) == 0 && !IsItem(at)) return "a key needs `: ` after it";
  if (before == nullptr) return "a key or a list's `- ` has no place here";
  if (CountKeys(before->text) == 0 && !IsItem(*before)) {
    return LineName(*before) + " has no `: ` after its key";
  }
  return Indented(at, *before);
}

struct Known {
  std::string_view said;
  std::string_view meant;
};

constexpr Known kKnown[] = {
    {"end of map flow not found", "a `{` has no `}`, or a `,` is missing before this"},
    {"end of sequence flow not found", "a `[` has no `]`, or a `,` is missing before this"},
    {"illegal flow end", "this `]` or `}` does not belong to the bracket that is open"},
    {"unknown token", "a value cannot begin with `@`, `%` or a backquote: put it in quotes"},
    {"the referenced anchor is not defined",
     "aliases (`*name`) are not supported; put a `*` that is meant in quotes"},
    {"alias not found after *", "`*` alone has another meaning in YAML: write \"*\" in quotes"},
    {"unexpected character in block scalar", "after `|` or `>` the text begins on the next line"},
};

constexpr std::string_view kMisplaced[] = {"illegal map value", "end of map not found",
                                           "end of sequence not found", "illegal block entry",
                                           "illegal map key"};
constexpr std::string_view kEscape = "unknown escape character";

}  // namespace

std::string ExplainYamlMistake(std::string_view text, int line, const std::string& said) {
  const std::vector<Line> lines = LinesUpTo(text, line);
  const Line* const at = lines.empty() ? nullptr : &lines.back();
  const Line* const before = lines.size() < 2 ? nullptr : &lines[lines.size() - 2];
  for (const Known& known : kKnown) {
    if (said == known.said) return std::string(known.meant);
  }
  if (said.compare(0, kEscape.size(), kEscape) == 0) {
    return said + "; in single quotes a `\\` is itself";
  }
  // In brackets a tab may be anywhere.
  for (const Line* one : {at, before}) {
    if (one == nullptr || one->indent.find('\t') == std::string_view::npos) continue;
    return (one == at && one->number == line ? "" : LineName(*one) + ": ") +
           "a tab indents it; YAML is indented with spaces only";
  }
  const bool misplaced =
      std::find(std::begin(kMisplaced), std::end(kMisplaced), said) != std::end(kMisplaced);
  if (!misplaced || at == nullptr) return said;
  const bool placed = CountKeys(at->text) > 0 || IsItem(*at);
  return placed && GoesBackToNowhere(lines) ? Indented(*at, *before) : Misplaced(*at, before);
}

bool IsQuoteClosed(std::string_view text, size_t begin) {
  const char quote = text[begin];
  for (size_t i = begin + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      // '' is a quote inside a text in single quotes.
      const bool doubled = quote == '\'' && i + 1 < text.size() && text[i + 1] == quote;
      if (!doubled) return true;
      ++i;
    }
  }
  return false;
}

}  // namespace odyssey::dialect
