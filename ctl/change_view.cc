#include "ctl/change_view.h"

#include "ctl/console.h"
#include "ctl/sanitize.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::Change;
using supervisor::v1::ChangeCounts;

constexpr char kWorkspace[] = "/workspace/";

const char* LetterOf(supervisor::v1::ChangeKind kind) {
  switch (kind) {
    case supervisor::v1::CHANGE_KIND_ADDED:
      return "A";
    case supervisor::v1::CHANGE_KIND_MODIFIED:
      return "M";
    case supervisor::v1::CHANGE_KIND_DELETED:
      return "D";
    case supervisor::v1::CHANGE_KIND_RENAMED:
      return "R";
    case supervisor::v1::CHANGE_KIND_MODE:
      return "m";
    case supervisor::v1::CHANGE_KIND_LINK:
      return "L";
    default:
      return "T";
  }
}

bool IsDirectory(const Change& change) {
  constexpr uint32_t kType = 0170000, kDirectory = 0040000;
  const uint32_t mode = change.new_mode() != 0 ? change.new_mode() : change.old_mode();
  return (mode & kType) == kDirectory;
}

// "0644 → 0755"
std::string ModeText(const Change& change) {
  char text[32];
  snprintf(text, sizeof(text), " (%04o → %04o)", change.old_mode() & 07777U,
           change.new_mode() & 07777U);
  return text;
}

std::string Part(uint32_t count, const char* what) {
  return count == 0 ? "" : std::to_string(count) + " " + what;
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) {
    if (!part.empty()) out += (out.empty() ? "" : ", ") + part;
  }
  return out;
}

Style StyleOf(const std::string& line) {
  if (line.rfind("+++", 0) == 0 || line.rfind("---", 0) == 0 || line.rfind("diff ", 0) == 0) {
    return Style::kBold;
  }
  if (line[0] == '+') return Style::kGood;
  if (line[0] == '-') return Style::kBad;
  if (line[0] == '@') return Style::kDim;
  return line[0] == '#' ? Style::kWarn : Style::kPlain;
}

}  // namespace

std::string ShownPath(const std::string& path) {
  const std::string safe = Sanitize(path, Lines::kOne);
  return safe.rfind(kWorkspace, 0) == 0 ? safe.substr(sizeof(kWorkspace) - 1) : safe;
}

std::string ChangeLine(const Change& change, bool color) {
  std::string line = std::string(LetterOf(change.kind())) + "  ";
  if (!change.from().empty()) line += ShownPath(change.from()) + " → ";
  line += ShownPath(change.path());
  if (IsDirectory(change)) line += "/";
  if (change.kind() == supervisor::v1::CHANGE_KIND_MODE) line += ModeText(change);
  if (!change.mark().empty()) {
    line += Paint("  MARKED: " + Sanitize(change.mark(), Lines::kOne), Style::kWarn, color);
  }
  if (!change.conflict().empty()) {
    line += Paint("  CONFLICT: " + Sanitize(change.conflict(), Lines::kOne), Style::kBad, color);
  }
  return line;
}

bool IsEmpty(const ChangeCounts& counts) {
  return counts.added() + counts.modified() + counts.deleted() + counts.renamed() +
             counts.other() ==
         0;
}

std::string CountsText(const ChangeCounts& counts) {
  if (IsEmpty(counts)) return "no changes";
  const std::string aside = Joined(
      {Part(counts.marked(), "marked"), Part(counts.conflicts(), "in conflict with the host")});
  return Joined({Part(counts.added(), "added"), Part(counts.modified(), "modified"),
                 Part(counts.deleted(), "deleted"), Part(counts.renamed(), "renamed"),
                 Part(counts.other(), "of mode, link or type")}) +
         (aside.empty() ? "" : " (" + aside + ")");
}

std::string DiffText(const std::string& diff, bool color) {
  const std::string safe = Sanitize(diff, Lines::kMany);
  if (!color) return safe;
  std::string out;
  for (size_t begin = 0; begin < safe.size();) {
    const size_t end = std::min(safe.find('\n', begin), safe.size());
    const std::string line = safe.substr(begin, end - begin);
    out += (line.empty() ? line : Paint(line, StyleOf(line), true)) + "\n";
    begin = end + 1;
  }
  return out;
}

std::string RefusalLine(const supervisor::v1::RefusedChange& refused, const std::string& name) {
  const std::string path = ShownPath(refused.path());
  const std::string line = path + ": " + Sanitize(refused.reason(), Lines::kOne);
  if (!refused.marked()) return "odyssey-ctl: not done: " + line;
  return "odyssey-ctl: left out, marked: " + line +
         "\n  to take it all the same: odyssey-ctl commit " + name + " --marked '" + path + "'";
}

}  // namespace odyssey::ctl
