#ifndef ODYSSEY_POLICY_EXECUTABLES_HOST_TREE_H_
#define ODYSSEY_POLICY_EXECUTABLES_HOST_TREE_H_

// The host's files, read-only: names, links and the heads of programs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/elf/elf.h"

namespace odyssey::executables {

// Which file it is, and whether it has changed.
struct FileInfo {
  bool directory = false;
  bool regular = false;
  bool executable = false;  // by any of its permission bits
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;
  friend bool operator==(const FileInfo&, const FileInfo&) = default;
};

class HostTree final {
 public:
  // `root`: a directory that stands for "/", links in it included; "" is the host.
  explicit HostTree(std::string root) : root_(std::move(root)) {}

  // The absolute path that `path` leads to, without links and dots. NOT_FOUND if nothing is there.
  Result<std::string> Canonical(const std::string& path) const;
  // Of a canonical path; nothing if nothing is there.
  std::optional<FileInfo> Look(const std::string& path) const;
  Result<elf::Image> ReadImage(const std::string& path) const;
  // "" if it cannot be read or is longer than any configuration of a loader.
  std::string ReadText(const std::string& path) const;
  // What a directory holds, sorted; nothing if it cannot be read.
  std::vector<std::string> Names(const std::string& directory) const;

 private:
  const std::string root_;
};

// "/usr/bin" of "/usr/bin/git".
std::string DirectoryOf(const std::string& path);

}  // namespace odyssey::executables

#endif  // ODYSSEY_POLICY_EXECUTABLES_HOST_TREE_H_
