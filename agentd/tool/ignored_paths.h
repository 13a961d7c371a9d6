#ifndef ODYSSEY_AGENTD_TOOL_IGNORED_PATHS_H_
#define ODYSSEY_AGENTD_TOOL_IGNORED_PATHS_H_

// Which paths of a cell .gitignore and .git/info/exclude leave out, as ripgrep finds it: the files
// of the directories above a path, up to the workspace or to a directory with .git. Patterns of a
// directory count before those above it. What is below a directory that is left out is left out.

#include <map>
#include <string>

#include "agentd/ignore/ignore_file.h"
#include "agentd/sandbox/sandbox.h"

namespace odyssey::tools {

class IgnoredPaths final {
 public:
  // `sandbox` is borrowed; `workspace` as the cell names it.
  IgnoredPaths(sandbox::Sandbox* sandbox, std::string workspace)
      : sandbox_(sandbox), workspace_(std::move(workspace)) {}

  // `path` is absolute in the cell or relative to the workspace, and has no symbolic link. Reads
  // the ignore files that it has not read since Forget; one that cannot be read has no patterns.
  bool Contains(const std::string& cell_id, const std::string& path, ignore::NodeKind kind);

  // Something may have changed the files.
  void Forget() { directories_.clear(); }

 private:
  struct Directory {
    ignore::IgnoreFile patterns, exclude;
    bool is_repository = false;
    bool ignored = false;
  };

  // `path` is absolute, and below the top of its tree.
  bool IsIgnored(const std::string& cell_id, const std::string& path, ignore::NodeKind kind);
  const Directory& At(const std::string& cell_id, const std::string& directory);
  bool IsTop(const std::string& directory) const;
  ignore::IgnoreFile ReadPatterns(const std::string& cell_id, const std::string& path);

  sandbox::Sandbox* const sandbox_;
  const std::string workspace_;
  std::map<std::string, Directory> directories_;  // by absolute path
};

// "path `x` is ignored by .gitignore".
Status IgnoredError(const std::string& path);

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_IGNORED_PATHS_H_
