#include "ctl/view/change_view.h"

#include "ctl/base/console.h"
#include "ctl/base/sanitize.h"
#include "ctl/view/tool_text.h"

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

// "0644 → 0755"
std::string ModeText(const Change& change) {
  char text[32];
  snprintf(text, sizeof(text), " (%04o → %04o)", change.old_mode() & 07777U,
           change.new_mode() & 07777U);
  return text;
}

std::string WithoutWorkspace(const std::string& path) {
  return path.rfind(kWorkspace, 0) == 0 ? path.substr(sizeof(kWorkspace) - 1) : path;
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

}  // namespace

std::string ShownPath(const std::string& path) {
  return Sanitize(WithoutWorkspace(path), Lines::kOne);
}

bool IsDirectory(const Change& change) {
  constexpr uint32_t kType = 0170000, kDirectory = 0040000;
  const uint32_t mode = change.new_mode() != 0 ? change.new_mode() : change.old_mode();
  return (mode & kType) == kDirectory;
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

std::string CommandText(const std::vector<std::string>& words) {
  return Sanitize(JoinCommand(words), Lines::kOne);
}

std::string RefusalLine(const supervisor::v1::RefusedChange& refused, const std::string& name) {
  const std::string path = ShownPath(refused.path());
  const std::string line = path + ": " + Sanitize(refused.reason(), Lines::kOne);
  if (!refused.marked()) return "odyssey-ctl: not done: " + line;
  return "odyssey-ctl: left out, marked: " + line + "\n  to take it all the same: " +
         CommandText({"odyssey-ctl", "commit", name, "--marked", WithoutWorkspace(refused.path())});
}

}  // namespace odyssey::ctl
