#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_LAYER_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_LAYER_H_

// One directory that paths are relative to: the host's, the upper layer, the store. A path is
// walked a component at a time from its descriptor, and no symbolic link is followed, whatever
// process made it: other processes may rearrange what is there at any moment.

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "supervisor/cell_review/node.h"

namespace odyssey::cell_review {

// Deeper directories are not looked into: each level is a walk from the top.
inline constexpr size_t kMaxDepth = 512;
// Larger files are compared by size, time and their ends.
inline constexpr uint64_t kMaxHashed = uint64_t{64} << 20;

// What a file's new content comes from: a file, or the content itself.
struct Source {
  UniqueFd file;
  std::optional<std::string> text;
};

class Layer final {
 public:
  static Result<Layer> Open(const std::string& directory);

  // kNone: nothing is there, or a component on the way is no directory.
  Result<Node> Look(const std::string& path);
  // Sorted. NOT_FOUND, PERMISSION_DENIED, …
  Result<std::vector<std::string>> Names(const std::string& path);
  // The upper layer: nothing of the lower directory shows through.
  bool IsOpaque(const std::string& path);
  Result<State> StateOf(const std::string& path, const Node& node);
  Result<UniqueFd> OpenFile(const std::string& path);
  // A regular file of at most `max_bytes`; RESOURCE_EXHAUSTED for a larger one.
  Result<std::string> Read(const std::string& path, uint64_t max_bytes);

  // The directory that holds `path`, borrowed until the next call, and its last component.
  Result<int> Parent(const std::string& path, std::string* name);
  // After a directory was made, moved or removed.
  void Forget() { parent_.reset(); }
  int fd() const { return root_.get(); }

 private:
  Result<UniqueFd> OpenDirectory(const std::string& path) const;

  UniqueFd root_;
  std::string parent_path_;
  UniqueFd parent_;
};

// `path` within, or "" for the top.
std::string Join(const std::string& path, const std::string& name);
std::string ParentOf(const std::string& path);
// `path` is `directory` or below it; "" holds everything.
bool IsBelow(const std::string& path, const std::string& directory);

// For error texts: control characters and what is not UTF-8 shown as \xNN.
std::string Shown(const std::string& path);

// The content of `from`, holes kept; the hash of it if `print` is not null and it is small enough.
Status CopyContent(int from, int to, uint64_t size, std::string* print);
std::string PrintOf(const Node& node, int fd);

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_LAYER_H_
