#include "policy/dialect/operator_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "common/os/regular_file.h"
#include "common/os/unique_fd.h"
#include "policy/dialect/node.h"

namespace odyssey::dialect {
namespace {

constexpr size_t kMaxFiles = 64;

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Another uid that could write it could grant itself rights.
Status CheckOwner(const std::string& path, const struct stat& info) {
  if (info.st_uid != 0 && info.st_uid != geteuid()) {
    return FailedPrecondition(path + ": it belongs to uid " + std::to_string(info.st_uid) +
                              "; the operator's files must be root's");
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return OkStatus();
  return FailedPrecondition(path +
                            ": its group or others may write it; the operator's files must be "
                            "writable by its owner alone (chmod go-w)");
}

Result<std::vector<std::string>> ListFiles(const std::string& path, UniqueFd directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(directory.get()), closedir);
  if (!stream) return ErrnoStatus(errno, "list " + path);
  (void)directory.release();
  std::vector<std::string> names;
  // Only this thread reads this stream.
  while (const dirent* entry = readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string name = entry->d_name;
    if (EndsWith(name, ".yml")) {
      return FailedPrecondition(path + "/" + name +
                                ": it would not be read; name it *.yaml, or move it away");
    }
    if (EndsWith(name, ".yaml") && name[0] != '.') names.push_back(name);
  }
  if (names.size() > kMaxFiles) {
    return FailedPrecondition(path + ": " + std::to_string(names.size()) + " files; at most " +
                              std::to_string(kMaxFiles) + " are allowed");
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> ReadAll(const std::string& path, int fd) {
  std::string text;
  char buffer[16 * 1024];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read " + path);
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
    if (text.size() > kMaxDocumentBytes) {
      return FailedPrecondition(path + ": longer than " + std::to_string(kMaxDocumentBytes) +
                                " bytes");
    }
  }
}

Result<std::string> ReadTrusted(const std::string& path, int directory, const std::string& name) {
  // Not blocking: what is no regular file is opened before that is known.
  const UniqueFd fd(
      openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd && errno == ELOOP) {
    return FailedPrecondition(path + ": it is a symbolic link; only files themselves are read");
  }
  if (!fd) return ErrnoStatus(errno, "open " + path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "stat " + path);
  if (!S_ISREG(info.st_mode)) {
    return FailedPrecondition(path + ": it is " + FileKind(info.st_mode) + ", not a regular file");
  }
  ODY_RETURN_IF_ERROR(CheckOwner(path, info));
  return ReadAll(path, fd.get());
}

}  // namespace

Result<std::optional<OperatorFiles>> ReadOperatorFiles(const std::string& directory) {
  using Files = std::optional<OperatorFiles>;
  UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd && errno == ENOENT) return Files();
  if (!fd) return ErrnoStatus(errno, "open " + directory);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "stat " + directory);
  ODY_RETURN_IF_ERROR(CheckOwner(directory, info));
  UniqueFd listed(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!listed) return ErrnoStatus(errno, "list " + directory);
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                       ListFiles(directory, std::move(listed)));
  OperatorFiles out;
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    ODY_ASSIGN_OR_RETURN(std::string text, ReadTrusted(path, fd.get(), name));
    out.push_back({path, std::move(text)});
  }
  return Files(std::move(out));
}

Result<std::optional<OperatorFile>> ReadOperatorFile(const std::string& path) {
  Result<std::string> text = ReadTrusted(path, AT_FDCWD, path);
  if (text.status().code() == Code::kNotFound) return std::optional<OperatorFile>();
  ODY_RETURN_IF_ERROR(text.status());
  return std::optional<OperatorFile>({path, *std::move(text)});
}

}  // namespace odyssey::dialect
