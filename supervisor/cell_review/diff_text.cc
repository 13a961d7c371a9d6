#include "supervisor/cell_review/diff_text.h"

#include "common/diff/diff.h"

namespace odyssey::cell_review {
namespace {

constexpr uint64_t kMaxText = uint64_t{8} << 20;  // a larger file is shown as binary

// What git takes for the content: a link's is where it leads.
std::string ContentOf(Layer* layer, const std::string& path, const State& state) {
  if (state.kind == Kind::kSymlink) return state.print;
  if (state.kind != Kind::kFile || state.size > kMaxText) return "";
  auto text = layer->Read(path, kMaxText);
  return text.ok() ? std::move(*text) : "";
}

// A comment above the diff, as a line that patch(1) passes over.
std::string Note(const char* what, const std::string& text) {
  return text.empty() ? "" : std::string("# ") + what + ": " + Shown(text) + "\n";
}

}  // namespace

std::string DiffText(Reviewed* reviewed, const Listed& listed) {
  const review::Change& change = listed.change;
  const Found& found = listed.found;
  std::string out = Note("marked", change.mark) + Note("conflict", change.conflict);
  const bool directory = found.upper.kind == Kind::kDirectory ||
                         (found.upper.kind == Kind::kNone && found.host.kind == Kind::kDirectory);
  if (directory) {
    // git knows none.
    return out + "# directory " +
           (found.upper.kind == Kind::kNone ? "deleted" : "made or changed") + ": " +
           Shown(found.path) + "\n";
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
  file.binary = file.binary || std::max(found.host.size, found.upper.size) > kMaxText;
  out += diff::FormatHeader(file);
  if (file.same_content || file.binary) return out;
  const std::string before = ContentOf(&reviewed->host, found.path, found.host);
  const std::string after = ContentOf(&reviewed->upper, found.path, found.upper);
  for (const diff::Hunk& hunk : diff::Compare(before, after)) out += diff::Format(hunk);
  return out;
}

}  // namespace odyssey::cell_review
