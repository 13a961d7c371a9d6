#include "policy/explain/hint.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace odyssey::explain {
namespace {

constexpr std::ptrdiff_t kMaxMentions = 16;           // of a line, the last ones
constexpr int kNotExecutable = 126, kNotFound = 127;  // exit codes of sh(1), env(1) and their kin

// A word that may be meant as a path or a program: its end is where programs end a name.
struct Mention {
  std::string text;
  bool quoted = false;
  bool before_colon = false;  // else before the end of the line, or " ("
};

bool IsQuote(char c) { return c == '\'' || c == '"' || c == '`'; }

bool Separates(char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || IsQuote(c); }

bool IsTrailing(char c) { return std::string_view(".,;)").find(c) != std::string_view::npos; }

// With the quotes that C libraries print in UTF-8 as those of ASCII.
std::string PlainQuotes(std::string_view line) {
  std::string out;
  for (size_t at = 0; at < line.size(); ++at) {
    const std::string_view three = line.substr(at, 3);
    const bool quote = three == "\xE2\x80\x98" || three == "\xE2\x80\x99";
    out += quote ? '\'' : line[at];
    if (quote) at += 2;
  }
  return out;
}

// The word at [begin, end) of `line`; nullopt if no name ends there.
std::optional<Mention> MentionAt(std::string_view line, size_t begin, size_t end) {
  std::string_view word = line.substr(begin, end - begin);
  std::string_view rest = line.substr(end);
  while (!rest.empty() && IsQuote(rest[0])) rest.remove_prefix(1);
  Mention mention{.quoted = begin > 0 && IsQuote(line[begin - 1])};
  if (word.back() == ':') {
    word.remove_suffix(1);
    mention.before_colon = true;
  } else if (!rest.empty() && rest[0] == ':') {
    mention.before_colon = true;
  } else if (std::all_of(rest.begin(), rest.end(), Separates)) {
    while (!word.empty() && IsTrailing(word.back())) word.remove_suffix(1);
  } else if (rest.substr(0, 2) != " (") {
    return std::nullopt;
  }
  mention.text = word;
  return mention;
}

std::vector<Mention> MentionsIn(std::string_view line) {
  std::vector<Mention> mentions;
  for (size_t end = 0; end < line.size();) {
    const auto begin = static_cast<size_t>(
        std::find_if_not(line.begin() + static_cast<std::ptrdiff_t>(end), line.end(), Separates) -
        line.begin());
    end = begin;
    while (end < line.size() && !Separates(line[end])) ++end;
    if (begin == end) break;
    auto mention = MentionAt(line, begin, end);
    const bool speaks = begin == 0 && mention && mention->before_colon;  // the program itself
    if (mention && !speaks) mentions.push_back(*std::move(mention));
  }
  return mentions;
}

// Not a URL, a place in a source file, a time or a fraction; and a plain word only if it is quoted
// as the object of a message.
bool IsPath(const Mention& mention) {
  const std::string& text = mention.text;
  const bool letters = std::any_of(text.begin(), text.end(), [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || static_cast<signed char>(c) < 0;
  });
  if (!letters || text.size() > kMaxResource || text.find(':') != text.npos) return false;
  if (text.find('/') == text.npos) return mention.quoted && mention.before_colon;
  const bool rooted = text[0] == '/' || text.rfind("./", 0) == 0 || text.rfind("../", 0) == 0;
  return rooted || mention.quoted || mention.before_colon;
}

std::optional<Denial> HintAt(const Cell& cell, const Command& command, int exit_code,
                             const Mention& mention) {
  const bool not_run = exit_code == kNotExecutable || exit_code == kNotFound;
  if (not_run && mention.text.find('/') == std::string::npos) {
    if (auto unlisted = UnlistedDenial(cell, command, mention.text)) return unlisted;
  }
  if (!IsPath(mention)) return std::nullopt;
  const std::string path = ResolveInCell(cell, command.cwd, mention.text);
  if (path.empty()) return std::nullopt;
  for (const Access access : {Access::kRead, Access::kExecute, Access::kWrite}) {
    if (access == Access::kExecute && exit_code != kNotExecutable) continue;
    const Answer answer = ExplainPath(cell, path, access);
    if (!answer.allowed) return PathDenial(path, access, answer);
  }
  return std::nullopt;
}

// The last lines, the last one first.
std::vector<std::string> LastLines(std::string_view text) {
  text.remove_prefix(text.size() - std::min(text.size(), kMaxHintBytes));
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < kMaxHintLines) {
    const size_t begin = text.find_last_of("\r\n") + 1;  // of a progress meter the last one
    if (begin < text.size()) lines.push_back(PlainQuotes(text.substr(begin)));
    text = text.substr(0, begin == 0 ? 0 : begin - 1);
  }
  return lines;
}

}  // namespace

std::vector<Denial> FindHints(const Cell& cell, const Command& command, int exit_code,
                              std::string_view stderr_tail) {
  std::vector<Denial> hints;
  for (const std::string& line : LastLines(stderr_tail)) {
    const std::vector<Mention> mentions = MentionsIn(line);
    const auto end = mentions.rbegin() + std::min(std::ssize(mentions), kMaxMentions);
    for (auto mention = mentions.rbegin(); mention != end; ++mention) {
      auto hint = HintAt(cell, command, exit_code, *mention);
      if (!hint) continue;
      hint->hint = true;
      const bool known = std::any_of(hints.begin(), hints.end(),
                                     [&](const Denial& d) { return IsSameThing(d, *hint); });
      if (!known) hints.insert(hints.begin(), *std::move(hint));
      break;
    }
    if (hints.size() == kMaxHints) break;
  }
  return hints;
}

}  // namespace odyssey::explain
