#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_DIRECTORY_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_DIRECTORY_H_

#include <dirent.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

namespace odyssey::cell_guard {

// A directory being read; positions are the file system's own (telldir(3)).
class Directory final {
 public:
  // nullptr with errno. Caller owns it.
  static Directory* Open(int parent, const char* name) {
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return nullptr;
    DIR* stream = fdopendir(fd);
    if (stream == nullptr) {
      close(fd);
      return nullptr;
    }
    return new Directory(stream);
  }
  ~Directory() { closedir(stream_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  void Seek(off_t position) {
    if (position == position_) return;
    seekdir(stream_, position);
    position_ = position;
  }
  // nullptr at the end. The entry is valid until the next call.
  const dirent* Next() {
    const dirent* entry = readdir(stream_);
    if (entry != nullptr) position_ = telldir(stream_);
    return entry;
  }
  int fd() const { return dirfd(stream_); }
  // After the last entry that Next returned.
  off_t position() const { return position_; }

 private:
  explicit Directory(DIR* stream) : stream_(stream) {}

  DIR* const stream_;
  off_t position_ = 0;
};

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_DIRECTORY_H_
