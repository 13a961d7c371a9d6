#include "supervisor/rpc/record_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "common/os/file.h"

namespace odyssey::supervisor {

Result<RecordFiles> RecordFiles::Open(int directory, const char* name, std::string what) {
  const std::string shown = std::string("the directory ") + name;
  if (mkdirat(directory, name, 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "create " + shown);
  }
  UniqueFd fd(openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + shown);
  return RecordFiles(std::move(fd), std::move(what));
}

Status RecordFiles::Write(const std::string& name, std::string_view bytes) const {
  const std::string next = "." + name;
  const UniqueFd file(openat(directory_.get(), next.c_str(),
                             O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return ErrnoStatus(errno, "write " + what_);
  ODY_RETURN_IF_ERROR(WriteAll(file.get(), bytes));
  const bool kept = fsync(file.get()) == 0 &&
                    renameat(directory_.get(), next.c_str(), directory_.get(), name.c_str()) == 0 &&
                    fsync(directory_.get()) == 0;
  return kept ? OkStatus() : ErrnoStatus(errno, "write " + what_);
}

Status RecordFiles::Remove(const std::string& name) const {
  const bool gone = unlinkat(directory_.get(), name.c_str(), 0) == 0 || errno == ENOENT;
  return gone ? OkStatus() : ErrnoStatus(errno, "remove " + what_);
}

Result<std::string> RecordFiles::Read(const std::string& name, size_t most) const {
  const UniqueFd file(openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return ErrnoStatus(errno, "open " + what_);
  return ReadToTheEnd(file.get(), what_, most);
}

Result<std::vector<std::string>> RecordFiles::Names() const {
  UniqueFd fd(openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fd ? fdopendir(fd.get()) : nullptr, closedir);
  if (!stream) return ErrnoStatus(errno, "list " + what_);
  fd.release();
  std::vector<std::string> names;
  // Only this thread reads this stream.
  while (const dirent* entry = readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe)
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

}  // namespace odyssey::supervisor
