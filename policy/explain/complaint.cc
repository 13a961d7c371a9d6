#include "policy/explain/complaint.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "policy/explain/words.h"

namespace odyssey::explain {
namespace {

struct Phrase {
  std::string_view text;  // in lower case
  ComplaintKind kind;
};

// strerror(3), errno names as some runtimes print them, and the words of common programs.
constexpr Phrase kPhrases[] = {
    {"read-only file system", ComplaintKind::kReadOnly},
    {"erofs", ComplaintKind::kReadOnly},
    {"network is unreachable", ComplaintKind::kNetwork},
    {"enetunreach", ComplaintKind::kNetwork},
    {"could not resolve host", ComplaintKind::kNetwork},
    {"unable to resolve host", ComplaintKind::kNetwork},
    {"temporary failure in name resolution", ComplaintKind::kNetwork},
    {"temporary failure resolving", ComplaintKind::kNetwork},
    {"name or service not known", ComplaintKind::kNetwork},
    {"no address associated with hostname", ComplaintKind::kNetwork},
    {"eai_again", ComplaintKind::kNetwork},
    {"unknownhostexception", ComplaintKind::kNetwork},
    {"couldn't connect to server", ComplaintKind::kNetwork},
    {"cannot fork", ComplaintKind::kProcesses},
    {"can't fork", ComplaintKind::kProcesses},
    {"fork: retry", ComplaintKind::kProcesses},
    {"fork: resource temporarily unavailable", ComplaintKind::kProcesses},
    {"can't start new thread", ComplaintKind::kProcesses},
    {"blockingioerror: [errno 11] resource temporarily unavailable", ComplaintKind::kProcesses},
    {"too many open files", ComplaintKind::kOpenFiles},
    {"emfile", ComplaintKind::kOpenFiles},
    {"no space left on device", ComplaintKind::kSpace},
    {"enospc", ComplaintKind::kSpace},
    {"disk quota exceeded", ComplaintKind::kSpace},
    {"permission denied", ComplaintKind::kPermission},
    {"eacces", ComplaintKind::kPermission},
    {"operation not permitted", ComplaintKind::kNotPermitted},
    {"eperm", ComplaintKind::kNotPermitted},
    {"command not found", ComplaintKind::kNotFound},
    {": not found", ComplaintKind::kNotFound},
};

constexpr std::string_view kWritingWords[] = {"create", "creat",  "write",  "touch",   "mkdir",
                                              "remove", "unlink", "delete", "rename",  "move",
                                              "save",   "output", "copy",   "symlink", "overwrite"};
// Programs whose complaint about a path is, if nothing says otherwise, about executing it; shells
// too.
constexpr std::string_view kLaunchers[] = {"env",   "timeout", "nice",   "nohup",  "time",
                                           "xargs", "exec",    "setsid", "stdbuf", "make"};
// The same of a bare name only: what it walks through it names by paths.
constexpr std::string_view kFind = "find";

constexpr size_t kMaxProgram = 32;  // longer than any name of a process

// Plain quotes in place of the typographic ones of C.UTF-8, so that there is one kind.
std::string WithPlainQuotes(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const std::string_view three = text.substr(at, 3);
    const bool quote = three == "\xE2\x80\x98" || three == "\xE2\x80\x99";
    out += quote ? '\'' : text[at];
    at += quote ? 3 : 1;
  }
  return out;
}

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) {
    return c < 0x80 ? static_cast<char>(std::tolower(c)) : static_cast<char>(c);
  });
  return out;
}

bool IsProgramCharacter(char c) { return IsWordCharacter(c) || c == '-' || c == '.' || c == '+'; }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return text;
}

void AddCandidate(std::string_view text, std::vector<std::string>* out) {
  text = Trim(text);
  if (text.empty() || out->size() == kMaxCandidates) return;
  if (std::find(out->begin(), out->end(), text) == out->end()) out->emplace_back(text);
}

// The last first: "cannot move 'a' to 'b'" complains about b more often than about a.
void AddQuoted(std::string_view line, std::vector<std::string>* out) {
  std::vector<std::string_view> found;
  for (size_t at = 0; at < line.size() && found.size() < kMaxCandidates; ++at) {
    if (line[at] != '\'' && line[at] != '"' && line[at] != '`') continue;
    if (at > 0 && IsWordCharacter(line[at - 1])) continue;  // the apostrophe of "can't"
    const size_t end = line.find(line[at] == '`' ? '\'' : line[at], at + 1);
    if (end == line.npos) continue;
    found.push_back(line.substr(at + 1, end - at - 1));
    at = end;
  }
  std::for_each(found.rbegin(), found.rend(),
                [&](std::string_view text) { AddCandidate(text, out); });
}

std::string_view WithoutColon(std::string_view text) {
  while (!text.empty() && (text.back() == ':' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

// Then it is not as it stands, or a part.
bool EndsQuoted(std::string_view word) {
  return !word.empty() && (word.back() == '\'' || word.back() == '"' || word.back() == '`');
}

// What stands between colons, nearest to the phrase first: as a whole, or its last word if it has
// several ("cannot create /usr/x"). Beyond the nearest only what looks like a path, and of what
// stands first, where the program's name is, only the second word.
void AddSegments(std::string_view before, std::vector<std::string>* out) {
  before = WithoutColon(before);
  bool nearest = true;
  while (!before.empty() && out->size() < kMaxCandidates) {
    const size_t colon = before.rfind(": ");
    const bool first = colon == before.npos;
    const std::string_view segment = Trim(first ? before : before.substr(colon + 2));
    const size_t space = segment.find_last_of(" \t");
    const std::string_view word = space == segment.npos ? segment : segment.substr(space + 1);
    const bool path = word.find('/') != word.npos;
    const bool wanted = first ? path && space != segment.npos : path || nearest;
    if (wanted && !EndsQuoted(word)) AddCandidate(word, out);
    if (first) break;
    before = before.substr(0, colon);
    nearest = false;
  }
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// "OSError", "socket.gaierror", "java.net.UnknownHostException".
bool NamesError(std::string_view word) {
  const std::string lower = Lower(word);
  return EndsWith(lower, "error") || EndsWith(lower, "exception");
}

bool LooksLikeHost(std::string_view word) {
  if (word.find('/') != word.npos || word.empty() || NamesError(word)) return false;
  // "http.client.HTTPConnection": a class.
  const std::string_view last = word.substr(std::min(word.rfind('.'), word.size()));
  if (std::any_of(last.begin(), last.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
    return false;
  }
  const bool colons = std::count(word.begin(), word.end(), ':') >= 2;
  return word.find('.') != word.npos || colons || word == "localhost";
}

// Names and addresses, the last first; a URL is reduced to its host.
void AddHosts(std::string_view line, std::vector<std::string>* out) {
  std::vector<std::string_view> found;
  for (size_t begin = 0; begin < line.size() && found.size() < kMaxCandidates;) {
    size_t end = line.find_first_of(" \t,;()'\"<>=", begin);
    if (end == line.npos) end = line.size();
    std::string_view word = line.substr(begin, end - begin);
    begin = end + 1;
    if (const size_t scheme = word.find("://"); scheme != word.npos) {
      word = word.substr(scheme + 3);
      word = word.substr(0, word.find('/'));
    }
    while (!word.empty() && (word.back() == ':' || word.back() == '.')) word.remove_suffix(1);
    if (LooksLikeHost(word)) found.push_back(word);
  }
  std::for_each(found.rbegin(), found.rend(),
                [&](std::string_view text) { AddCandidate(text, out); });
}

// The program that complains: what stands before the first colon, without its directory.
std::string_view ProgramOf(std::string_view line) {
  const std::string_view program = line.substr(0, std::min(line.find(':'), line.size()));
  const size_t slash = program.rfind('/');
  return slash == program.npos ? program : program.substr(slash + 1);
}

// "touch: cannot touch 'x': …" begins with a program; "x: Permission denied", "fatal: …" and
// "OSError: …" do not. `at`: where the phrase begins.
bool NamesProgram(std::string_view line, std::string_view program, size_t at, bool more_follows) {
  constexpr std::string_view kNoPrograms[] = {"fatal", "panic", "error", "warning", "E", "W"};
  const size_t colon = line.find(':');
  if (colon == line.npos || colon >= at || program.empty() || program.size() > kMaxProgram ||
      !std::all_of(program.begin(), program.end(), IsProgramCharacter)) {
    return false;
  }
  const bool says_what = !Trim(line.substr(colon + 1, at - colon - 1)).empty() || more_follows;
  return says_what && !NamesError(program) &&
         std::find(std::begin(kNoPrograms), std::end(kNoPrograms), program) ==
             std::end(kNoPrograms);
}

template <size_t kCount>
bool IsAmong(std::string_view program, const std::string_view (&names)[kCount]) {
  return std::find(std::begin(names), std::end(names), program) != std::end(names);
}

// What some shells put behind their name, or the script's: "3", and others "line 3".
enum class LineNumber { kNone, kBare, kSpelled };

// `line`: up to the phrase.
LineNumber LineNumberOf(std::string_view line) {
  line = WithoutColon(line);
  const size_t colon = line.find(": ");
  if (colon == line.npos) return LineNumber::kNone;
  std::string_view number = line.substr(colon + 2);
  number = number.substr(0, number.find(": "));
  constexpr std::string_view kLine = "line ";
  const bool spelled = number.substr(0, kLine.size()) == kLine;
  if (spelled) number.remove_prefix(kLine.size());
  const bool digits = !number.empty() && number.size() < line.size() - colon - 2 &&
                      number.find_first_not_of("0123456789") == number.npos;
  if (!digits) return LineNumber::kNone;
  return spelled ? LineNumber::kSpelled : LineNumber::kBare;
}

// A shell that does not say "line" says "cannot open" of a file that it was to open. Others name
// what they execute by a path, also if PATH led to it: a bare name was to be opened.
bool IsRedirection(const Complaint& complaint, LineNumber number, const std::string& words) {
  const auto& names = complaint.candidates;
  if (complaint.kind != ComplaintKind::kPermission || names.empty()) return false;
  if (!complaint.numbered_line && !IsShell(complaint.program)) return false;
  const bool bare_is_program =
      number == LineNumber::kBare || complaint.program == "dash" || complaint.program == "ash";
  const bool has_path = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.find('/') != std::string::npos;
  });
  return HasWord(words, "open") || (!has_path && !bare_is_program);
}

// What the line says in its own words: `before` the phrase and after it, without what it may be
// about. In lower case.
std::string OwnWords(std::string_view before, std::string_view after) {
  before = WithoutColon(before);
  const size_t name = before.find_last_of(": \t");
  before = before.substr(0, name == before.npos ? 0 : name);
  if (after.substr(0, 2) == ": ") after = "";
  std::string out;
  bool in_path = false;
  char quote = 0;
  for (const char c : std::string(before) + " " + std::string(after)) {
    const bool begins = out.empty() || out.back() == ' ';
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == ' ' || c == '\t') in_path = false;
    if (begins && (c == '\'' || c == '"')) quote = c;
    if (begins && (c == '/' || c == '.' || c == '~')) in_path = true;
    if (quote == 0 && !in_path) out += c == '\t' ? ' ' : c;
  }
  return Lower(out);
}

const Phrase* FindPhrase(std::string_view lower, size_t* at) {
  for (const Phrase& phrase : kPhrases) {
    *at = lower.find(phrase.text);
    if (*at != lower.npos) return &phrase;
  }
  return nullptr;
}

bool Launches(const Complaint& complaint) {
  if (IsShell(complaint.program) || IsAmong(complaint.program, kLaunchers)) return true;
  return complaint.program == kFind && !complaint.candidates.empty() &&
         complaint.candidates[0].find('/') == std::string::npos;
}

std::optional<Complaint> ParseLine(const std::string& text) {
  const std::string_view line = text;
  const std::string lower = Lower(line);
  size_t at = 0;
  const Phrase* phrase = FindPhrase(lower, &at);
  if (phrase == nullptr) return std::nullopt;
  const std::string_view after = line.substr(at + phrase->text.size());
  const bool more_follows = after.substr(0, 2) == ": ";
  Complaint complaint{.kind = phrase->kind, .program = std::string(ProgramOf(line))};
  complaint.names_program = NamesProgram(line, complaint.program, at, more_follows);
  switch (phrase->kind) {
    case ComplaintKind::kProcesses:
    case ComplaintKind::kOpenFiles:
      return complaint;
    case ComplaintKind::kNetwork:
      AddHosts(complaint.names_program ? line.substr(line.find(':') + 1) : line,
               &complaint.candidates);
      return complaint;
    default:
      break;
  }
  const LineNumber number = LineNumberOf(line.substr(0, at));
  complaint.numbered_line = number != LineNumber::kNone;
  const std::string words = OwnWords(line.substr(0, at), after);
  complaint.writing = std::any_of(std::begin(kWritingWords), std::end(kWritingWords),
                                  [&](std::string_view word) { return HasWord(words, word); });
  AddQuoted(line, &complaint.candidates);
  AddSegments(line.substr(0, at), &complaint.candidates);
  // "zsh: permission denied: ./x", "PermissionError: [Errno 13] Permission denied: x"
  if (more_follows) AddCandidate(after.substr(2), &complaint.candidates);
  if (complaint.writing) return complaint;
  complaint.redirecting = IsRedirection(complaint, number, words);
  complaint.executing = !complaint.redirecting &&
                        (complaint.numbered_line || Launches(complaint) || HasWord(words, "exec") ||
                         HasWord(words, "execve") || HasWord(words, "spawn"));
  return complaint;
}

}  // namespace

std::vector<Complaint> ParseComplaints(std::string_view text) {
  if (text.size() > kMaxComplaintBytes) text.remove_prefix(text.size() - kMaxComplaintBytes);
  std::vector<Complaint> out;
  size_t lines = 0;
  while (!text.empty() && lines < kMaxComplaintLines && out.size() < kMaxComplaints) {
    const size_t newline = text.rfind('\n');
    std::string_view line = newline == text.npos ? text : text.substr(newline + 1);
    text = newline == text.npos ? std::string_view() : text.substr(0, newline);
    line = Trim(line.substr(0, kMaxComplaintLine));
    if (line.empty()) continue;
    ++lines;
    const auto complaint = ParseLine(WithPlainQuotes(line));
    if (complaint && (out.empty() || out.back() != *complaint)) out.push_back(*complaint);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace odyssey::explain
