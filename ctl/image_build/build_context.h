#ifndef ODYSSEY_CTL_IMAGE_BUILD_BUILD_CONTEXT_H_
#define ODYSSEY_CTL_IMAGE_BUILD_BUILD_CONTEXT_H_

// The directory of which COPY and ADD take files. It is a project's: what is in it may have been
// left there by an agent. No link is followed on the way to a file, and nothing is read twice that
// could differ: what is copied is compared with what the digest was made of.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "image/dockerfile/ignore_file.h"

namespace odyssey::ctl {

inline constexpr size_t kMaxContextFiles = 500'000;

enum class ContextKind { kDirectory, kFile, kLink };

struct ContextFile {
  std::string path;  // relative
  ContextKind kind = ContextKind::kFile;
  mode_t mode = 0;  // permission bits
  uint64_t size = 0;
  int64_t mtime = 0;
  std::string target;  // of a link
  std::string sha256;  // of a file's content, hex
};

class BuildContext final {
 public:
  // Reads all that is not ignored. INVALID_ARGUMENT names what is no file, directory or link;
  // CANCELLED as soon as `interrupted` says so.
  static Result<BuildContext> Read(UniqueFd directory, const dockerfile::IgnoreFile& ignore,
                                   const std::function<bool()>& interrupted);

  // Sorted by path, so that a directory comes before what is in it.
  const std::vector<ContextFile>& files() const { return files_; }
  const ContextFile* Find(std::string_view path) const;
  // The files below a directory; of "" all.
  std::vector<const ContextFile*> Below(const std::string& path) const;

  // Where a path of the context leads by links of the context. INVALID_ARGUMENT: out of it, to
  // something ignored, or nowhere.
  Result<std::string> Resolve(const std::string& path) const;

  // Gives the content piece by piece. ABORTED: it is not what was read before.
  Status ReadContent(const ContextFile& file,
                     const std::function<Status(std::string_view)>& sink) const;
  // To be read from its beginning; the caller compares what it reads.
  Result<UniqueFd> OpenContent(const ContextFile& file) const;

  // Of names, modes, targets and contents. Hex. Times and owners are no part of it: they differ
  // between checkouts.
  std::string Digest() const;

 private:
  explicit BuildContext(UniqueFd directory) : directory_(std::move(directory)) {}

  UniqueFd directory_;
  std::vector<ContextFile> files_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_BUILD_CONTEXT_H_
