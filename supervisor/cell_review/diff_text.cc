#include "supervisor/cell_review/diff_text.h"

#include "common/diff/diff.h"

namespace odyssey::cell_review {
namespace {

constexpr uint64_t kMaxText = uint64_t{8} << 20;  // a larger file is shown as binary

// What git takes for the content: a link's is where it leads.
std::string ContentOf(const Version& version, const std::string& path) {
  if (version.state.kind == Kind::kSymlink) return version.state.print;
  if (version.state.kind != Kind::kFile || version.state.size > kMaxText) return "";
  auto text = version.layer->Read(path, kMaxText);
  return text.ok() ? std::move(*text) : "";
}

// A comment above the diff, as a line that patch(1) passes over.
std::string Note(const char* what, const std::string& text) {
  return text.empty() ? "" : std::string("# ") + what + ": " + Shown(text) + "\n";
}

}  // namespace

std::string DiffText(const Version& before, const Version& after, const review::Change& change) {
  std::string out = Note("marked", change.mark) + Note("conflict", change.conflict);
  const bool deleted = after.state.kind == Kind::kNone;
  if ((deleted ? before : after).state.kind == Kind::kDirectory) {
    // git knows none.
    return out + Note(deleted ? "directory deleted" : "directory made or changed", change.path);
  }
  const bool renamed = !change.from.empty();
  diff::File file = {.old_path = renamed ? change.from : change.path,
                     .new_path = change.path,
                     .old_mode = change.old_mode,
                     .new_mode = change.new_mode,
                     .same_content = renamed || change.kind == review::ChangeKind::kMode,
                     .binary = change.binary};
  if (change.old_mode == 0) file.old_path.clear();
  if (change.new_mode == 0) file.new_path.clear();
  file.binary = file.binary || std::max(before.state.size, after.state.size) > kMaxText;
  std::string old_text, new_text;
  if (!file.same_content && !file.binary) {
    old_text = ContentOf(before, change.path);
    new_text = ContentOf(after, change.path);
    file.binary = diff::IsBinary(old_text) || diff::IsBinary(new_text);
  }
  out += diff::FormatHeader(file);
  if (file.same_content || file.binary) return out;
  for (const diff::Hunk& hunk : diff::Compare(old_text, new_text)) out += diff::Format(hunk);
  return out;
}

}  // namespace odyssey::cell_review
