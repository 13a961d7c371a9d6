#include "ctl/view/diff_view.h"

#include <algorithm>

#include "ctl/base/console.h"
#include "ctl/base/sanitize.h"

namespace odyssey::ctl {
namespace {

bool Begins(std::string_view line, std::string_view with) {
  return line.substr(0, with.size()) == with;
}

// Lines of a diff one by one, knowing whether they are a header's or a hunk's.
class DiffLines final {
 public:
  explicit DiffLines(std::string_view diff) : rest_(diff) {}

  bool Next() {
    if (rest_.empty()) return false;
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (Begins(line_, "diff --git ")) in_hunk_ = false;
    begins_hunk_ = Begins(line_, "@@ ");
    in_hunk_ = in_hunk_ || begins_hunk_;
    return true;
  }
  std::string_view line() const { return line_; }
  bool begins_hunk() const { return begins_hunk_; }

  Style StyleOf() const {
    if (!in_hunk_) return Style::kBold;
    if (begins_hunk_ || Begins(line_, "\\")) return Style::kDim;
    return Begins(line_, "+") ? Style::kGood : Begins(line_, "-") ? Style::kBad : Style::kPlain;
  }
  std::string Shown(bool color) const { return Paint(Sanitize(line_), StyleOf(), color) + "\n"; }

 private:
  std::string_view rest_;
  std::string_view line_;
  bool in_hunk_ = false;
  bool begins_hunk_ = false;
};

}  // namespace

std::string FormatDiff(std::string_view diff, bool color) {
  std::string out;
  for (DiffLines lines(diff); lines.Next();) out += lines.Shown(color);
  return out;
}

std::string FoldDiff(std::string_view diff, size_t max_lines, std::string_view indent,
                     const std::string& how, bool color) {
  std::string out;
  size_t count = 0;
  for (DiffLines lines(diff); lines.Next(); ++count) {
    if (count < max_lines) out += std::string(indent) + lines.Shown(color);
  }
  if (count <= max_lines) return out;
  const size_t hidden = count - max_lines;
  return out + std::string(indent) + "… " + std::to_string(hidden) +
         (hidden == 1 ? " more line; " : " more lines; ") + Sanitize(how, Lines::kOne) + "\n";
}

FileDiff SplitDiff(std::string_view diff) {
  FileDiff out;
  for (DiffLines lines(diff); lines.Next();) {
    if (lines.begins_hunk()) out.hunks.emplace_back();
    std::string& part = out.hunks.empty() ? out.header : out.hunks.back();
    part += std::string(lines.line()) + "\n";
  }
  return out;
}

}  // namespace odyssey::ctl
