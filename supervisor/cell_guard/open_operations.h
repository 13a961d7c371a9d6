#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_OPEN_OPERATIONS_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_OPEN_OPERATIONS_H_

// Operations on what is open, as libfuse calls them (fuse.h): 0 or what was done, else -errno. Each
// is judged by the name that the file has now (open_file.h).

#include <fuse.h>

namespace odyssey::cell_guard {

int Read(const char*, char* buffer, size_t size, off_t offset, fuse_file_info* info);
int Write(const char*, const char* buffer, size_t size, off_t offset, fuse_file_info* info);
int Flush(const char*, fuse_file_info* info);
int Release(const char*, fuse_file_info* info);
int Sync(const char*, int data_only, fuse_file_info* info);
int Allocate(const char*, int mode, off_t offset, off_t length, fuse_file_info* info);
off_t Seek(const char*, off_t offset, int whence, fuse_file_info* info);
int ReadDirectory(const char*, void* buffer, fuse_fill_dir_t fill, off_t offset,
                  fuse_file_info* info, fuse_readdir_flags);
int ReleaseDirectory(const char*, fuse_file_info* info);

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_OPEN_OPERATIONS_H_
