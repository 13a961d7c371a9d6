#include "agentd/ignore/ignore_file.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "agentd/ignore/glob_regex.h"
#include "common/base/utf8.h"

namespace odyssey::ignore {
namespace {

constexpr size_t kMaxPatternBytes = 4096;
// Patterns that are matched at once: with more of them the automaton may outgrow RE2's budget.
constexpr size_t kGroupPatterns = 32;
constexpr size_t kGroupBytes = 16 * 1024;  // RE2 compiles so much within its bound of memory

struct Pattern {
  std::string regex;
  bool keeps = false;
  bool directories_only = false;
};

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// What Unicode calls white space, which ripgrep trims.
void TrimEnd(std::string_view* line) {
  static constexpr std::array<std::string_view, 25> kSpaces = {" ",
                                                               "\t",
                                                               "\n",
                                                               "\v",
                                                               "\f",
                                                               "\r",
                                                               "\xC2\x85",
                                                               "\xC2\xA0",
                                                               "\xE1\x9A\x80",
                                                               "\xE2\x80\x80",
                                                               "\xE2\x80\x81",
                                                               "\xE2\x80\x82",
                                                               "\xE2\x80\x83",
                                                               "\xE2\x80\x84",
                                                               "\xE2\x80\x85",
                                                               "\xE2\x80\x86",
                                                               "\xE2\x80\x87",
                                                               "\xE2\x80\x88",
                                                               "\xE2\x80\x89",
                                                               "\xE2\x80\x8A",
                                                               "\xE2\x80\xA8",
                                                               "\xE2\x80\xA9",
                                                               "\xE2\x80\xAF",
                                                               "\xE2\x81\x9F",
                                                               "\xE3\x80\x80"};
  const auto ends = [line](std::string_view space) { return EndsWith(*line, space); };
  for (;;) {
    const auto space = std::find_if(kSpaces.begin(), kSpaces.end(), ends);
    if (space == kSpaces.end()) return;
    line->remove_suffix(space->size());
  }
}

// Nothing: a comment, a blank line, or no pattern.
std::optional<Pattern> ParseLine(std::string_view line) {
  if (line.substr(0, 1) == "#" || line.size() > kMaxPatternBytes) return std::nullopt;
  if (!EndsWith(line, "\\ ")) TrimEnd(&line);
  if (line.empty()) return std::nullopt;
  Pattern out;
  bool anchored = false;
  if (line.substr(0, 2) == "\\!" || line.substr(0, 2) == "\\#") {
    line.remove_prefix(1);
  } else {
    out.keeps = line[0] == '!';
    if (out.keeps) line.remove_prefix(1);
    anchored = line.substr(0, 1) == "/";
    if (anchored) line.remove_prefix(1);
  }
  out.directories_only = EndsWith(line, "/");
  if (out.directories_only) line.remove_suffix(1);
  std::string glob(line);
  const bool one_name = !anchored && line.find('/') == std::string_view::npos;
  if (one_name && line != "**") glob.insert(0, "**/");
  if (EndsWith(glob, "/**")) glob += "/*";  // what is in the directory, without the directory
  std::optional<std::string> regex = GlobRegex(glob);
  if (!regex) return std::nullopt;
  out.regex = *std::move(regex);
  return out;
}

RE2::Options RegexOptions() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_dot_nl(true);
  options.set_log_errors(false);
  return options;
}

}  // namespace

class IgnoreFile::Group final {
 public:
  Group() : set_(RegexOptions(), RE2::ANCHOR_BOTH) {}

  bool full() const { return patterns_.size() == kGroupPatterns || bytes_ >= kGroupBytes; }
  void Add(Pattern pattern) {
    if (set_.Add(pattern.regex, nullptr) < 0) return;  // a range of bytes that is none
    bytes_ += pattern.regex.size();
    patterns_.push_back(std::move(pattern));
  }
  void Compile() { compiled_ = !patterns_.empty() && set_.Compile(); }

  Match Of(std::string_view path, NodeKind kind) const {
    std::vector<int> hits;
    if (!compiled_ || !set_.Match({path.data(), path.size()}, &hits)) return Match::kNone;
    int last = -1;
    for (const int hit : hits) {
      const bool fits = !patterns_[hit].directories_only || kind == NodeKind::kDirectory;
      if (fits) last = std::max(last, hit);
    }
    if (last < 0) return Match::kNone;
    return patterns_[last].keeps ? Match::kKept : Match::kIgnored;
  }

 private:
  RE2::Set set_;
  std::vector<Pattern> patterns_;  // by their index in the set
  size_t bytes_ = 0;               // of their regular expressions
  bool compiled_ = false;
};

IgnoreFile::IgnoreFile() = default;
IgnoreFile::IgnoreFile(IgnoreFile&&) noexcept = default;
IgnoreFile& IgnoreFile::operator=(IgnoreFile&&) noexcept = default;
IgnoreFile::~IgnoreFile() = default;

IgnoreFile IgnoreFile::Parse(std::string_view text) {
  if (text.size() > kMaxIgnoreFileBytes) {
    text = text.substr(0, text.rfind('\n', kMaxIgnoreFileBytes - 1) + 1);
  }
  IgnoreFile out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (end < text.size() && EndsWith(line, "\r")) line.remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!IsValidUtf8(line)) break;
    std::optional<Pattern> pattern = ParseLine(line);
    if (!pattern) continue;
    if (out.groups_.empty() || out.groups_.back()->full()) {
      out.groups_.push_back(std::make_unique<Group>());
    }
    out.groups_.back()->Add(*std::move(pattern));
  }
  for (const auto& group : out.groups_) group->Compile();
  return out;
}

Match IgnoreFile::Of(std::string_view path, NodeKind kind) const {
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    if (const Match match = (*group)->Of(path, kind); match != Match::kNone) return match;
  }
  return Match::kNone;
}

}  // namespace odyssey::ignore
