#include "supervisor/cell_guard/open_operations.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <string>

#include "supervisor/cell_guard/directory.h"
#include "supervisor/cell_guard/operation.h"

namespace odyssey::cell_guard {
int Read(const char*, char* buffer, size_t size, off_t offset, fuse_file_info* info) {
  if (const int error = OpenFile(Tree(), Handle(info)).Refusal(); error != 0) return -error;
  const ssize_t n = pread(Handle(info), buffer, size, offset);
  return n < 0 ? -errno : static_cast<int>(n);
}

// What is appended goes to the end that the file has then, which the host may have moved meanwhile.
int Write(const char*, const char* buffer, size_t size, off_t offset, fuse_file_info* info) {
  const int fd = Handle(info);
  if (const int error = OpenFile(Tree(), fd).Refusal(); error != 0) return -error;
  const bool appends = (info->flags & O_APPEND) != 0 && info->writepage == 0;
  struct stat now;
  if (appends && fstat(fd, &now) != 0) return -errno;
  if (appends) offset = now.st_size;  // the kernel's own idea of it may be old
  const iovec part = {const_cast<char*>(buffer), size};
  const ssize_t n = pwritev2(fd, &part, 1, offset, appends ? RWF_APPEND : 0);
  return n < 0 ? -errno : static_cast<int>(n);
}

// Each close(2) of a command: errors that the file system below keeps for it come out here. What
// was only read has none.
int Flush(const char*, fuse_file_info* info) {
  const int fd = Handle(info);
  MutableTree().locks.Closed(fd, info->lock_owner);
  const bool only_read = (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
  return only_read ? 0 : Done(close(dup(fd)));
}

int Release(const char*, fuse_file_info* info) {
  MutableTree().locks.Released(Handle(info));
  MutableTree().open_nodes.Released(Handle(info));
  return Done(close(Handle(info)));
}

int Sync(const char*, int data_only, fuse_file_info* info) {
  return Done(data_only != 0 ? fdatasync(Handle(info)) : fsync(Handle(info)));
}

int Allocate(const char*, int mode, off_t offset, off_t length, fuse_file_info* info) {
  return ChangeOpen(info, [=](int fd) { return fallocate(fd, mode, offset, length); });
}

off_t Seek(const char*, off_t offset, int whence, fuse_file_info* info) {
  const off_t at = lseek(Handle(info), offset, whence);
  return at < 0 ? -errno : at;
}

int ReadDirectory(const char*, void* buffer, fuse_fill_dir_t fill, off_t offset,
                  fuse_file_info* info, fuse_readdir_flags) {
  auto* directory = reinterpret_cast<Directory*>(info->fh);
  // Where it is now, not where it was opened.
  const OpenFile place(Tree(), directory->fd());
  if (const int error = place.Refusal(); error != 0) return -error;
  const std::string base = place.path() + "/";
  directory->Seek(offset);
  while (const dirent* entry = directory->Next()) {
    // A covered name is not shown: what cannot be opened is not there.
    if (Tree().Denied((base + entry->d_name).c_str())) continue;
    struct stat info_of_entry {};
    info_of_entry.st_ino = entry->d_ino;
    info_of_entry.st_mode = DTTOIF(entry->d_type);
    if (fill(buffer, entry->d_name, &info_of_entry, directory->position(),
             static_cast<fuse_fill_dir_flags>(0)) != 0) {
      break;
    }
  }
  return 0;
}

int ReleaseDirectory(const char*, fuse_file_info* info) {
  auto* directory = reinterpret_cast<Directory*>(info->fh);
  MutableTree().open_nodes.Released(directory->fd());
  delete directory;
  return 0;
}

}  // namespace odyssey::cell_guard
