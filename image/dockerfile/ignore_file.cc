#include "image/dockerfile/ignore_file.h"

#include <string>
#include <utility>

namespace odyssey::dockerfile {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

IgnoreFile IgnoreFile::Parse(std::string_view text, Problems* problems) {
  IgnoreFile file;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    std::string_view line = Trim(whole);
    if (line.empty() || whole.front() == '#') continue;
    const bool keep = line.front() == '!';
    if (keep) line = Trim(line.substr(1));
    const std::string clean = CleanPath(line);
    if (clean.empty()) {
      if (keep || line.empty()) problems->push_back({number, "a pattern is missing"});
      continue;  // the context itself, which is never left out
    }
    Result<PathPattern> pattern = PathPattern::Parse(clean, Globstar::kAcross);
    if (!pattern.ok()) {
      problems->push_back({number, pattern.status().message()});
      continue;
    }
    file.rules_.push_back({*std::move(pattern), keep});
    file.keeps_any_ = file.keeps_any_ || keep;
  }
  return file;
}

bool IgnoreFile::Ignores(std::string_view path) const {
  bool ignored = false;
  for (const Rule& rule : rules_) {
    if (rule.keep != ignored) continue;  // it would say the same
    bool fits = rule.pattern.Matches(path);
    for (size_t end = path.find('/'); !fits && end != std::string_view::npos;
         end = path.find('/', end + 1)) {
      fits = rule.pattern.Matches(path.substr(0, end));
    }
    if (fits) ignored = !rule.keep;
  }
  return ignored;
}

}  // namespace odyssey::dockerfile
