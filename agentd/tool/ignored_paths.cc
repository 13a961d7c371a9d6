#include "agentd/tool/ignored_paths.h"

#include <string_view>
#include <utility>

#include "agentd/tool/cell_path.h"

namespace odyssey::tools {
namespace {

using ignore::Match;
using ignore::NodeKind;

std::string ParentOf(const std::string& absolute) {
  return absolute.substr(0, absolute.rfind('/'));
}

}  // namespace

bool IgnoredPaths::IsTop(const std::string& directory) const {
  return directory == workspace_ || directory.rfind('/') == 0;
}

ignore::IgnoreFile IgnoredPaths::ReadPatterns(const std::string& cell_id, const std::string& path) {
  const auto read = sandbox_->ReadFile(cell_id, path, 0, ignore::kMaxIgnoreFileBytes);
  return read.ok() ? ignore::IgnoreFile::Parse(read->content()) : ignore::IgnoreFile();
}

const IgnoredPaths::Directory& IgnoredPaths::At(const std::string& cell_id,
                                                const std::string& directory) {
  if (const auto known = directories_.find(directory); known != directories_.end()) {
    return known->second;
  }
  Directory out;
  out.ignored = !IsTop(directory) && IsIgnored(cell_id, directory, NodeKind::kDirectory);
  if (!out.ignored) {
    out.patterns = ReadPatterns(cell_id, directory + "/.gitignore");
    // A directory, or the file of a working tree.
    const Status git = sandbox_->ReadFile(cell_id, directory + "/.git", 0, 1).status();
    out.is_repository = git.ok() || git.code() == Code::kFailedPrecondition;
    if (!git.ok() && out.is_repository) {
      out.exclude = ReadPatterns(cell_id, directory + "/.git/info/exclude");
    }
  }
  return directories_.emplace(directory, std::move(out)).first->second;
}

bool IgnoredPaths::IsIgnored(const std::string& cell_id, const std::string& path, NodeKind kind) {
  if (At(cell_id, ParentOf(path)).ignored) return true;
  Match of_patterns = Match::kNone;
  Match of_exclude = Match::kNone;
  for (std::string above = ParentOf(path);; above = ParentOf(above)) {
    const Directory& directory = At(cell_id, above);
    const std::string_view below = std::string_view(path).substr(above.size() + 1);
    if (of_patterns == Match::kNone) of_patterns = directory.patterns.Of(below, kind);
    if (of_exclude == Match::kNone) of_exclude = directory.exclude.Of(below, kind);
    if (directory.is_repository || IsTop(above)) break;
  }
  return (of_patterns != Match::kNone ? of_patterns : of_exclude) == Match::kIgnored;
}

bool IgnoredPaths::Contains(const std::string& cell_id, const std::string& path, NodeKind kind) {
  const std::string absolute = AbsolutePath(path, workspace_);
  return !IsTop(absolute) && IsIgnored(cell_id, absolute, kind);
}

Status IgnoredError(const std::string& path) {
  return PermissionDenied("path `" + path + "` is ignored by .gitignore");
}

}  // namespace odyssey::tools
