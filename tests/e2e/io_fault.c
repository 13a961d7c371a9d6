/* Loaded before libc: fails what a test asks for. ODYSSEY_IO_FAULT names a file of lines "CALL PART
   ERRNO": calls of that name on a path with PART in it end with -1 and that errno, while the file
   says so. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* 0: the call is not to fail. */
static int FaultOf(const char* call, const char* path) {
  const char* control = getenv("ODYSSEY_IO_FAULT");
  FILE* file = control == NULL ? NULL : fopen(control, "re");
  char name[32], part[256];
  int number = 0, found = 0;
  if (file == NULL) return 0;
  while (found == 0 && fscanf(file, "%31s %255s %d", name, part, &number) == 3) {
    if (strcmp(name, call) == 0 && strstr(path, part) != NULL) found = number;
  }
  fclose(file);
  return found;
}

static int FaultOfFd(const char* call, int fd) {
  char link[64], path[PATH_MAX];
  const int kept = errno;
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof(path) - 1);
  errno = kept;
  if (n < 0) return 0;
  path[n] = '\0';
  return FaultOf(call, path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL_IF(fault)        \
  do {                        \
    const int number = fault; \
    if (number != 0) {        \
      errno = number;         \
      return -1;              \
    }                         \
  } while (0)

ssize_t write(int fd, const void* data, size_t size) {
  FAIL_IF(FaultOfFd("write", fd));
  return NEXT(write)(fd, data, size);
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  FAIL_IF(FaultOfFd("write", fd));
  return NEXT(pwrite)(fd, data, size, offset);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  FAIL_IF(FaultOfFd("write", fd));
  return NEXT(pwrite64)(fd, data, size, offset);
}
int fsync(int fd) {
  FAIL_IF(FaultOfFd("sync", fd));
  return NEXT(fsync)(fd);
}
int fdatasync(int fd) {
  FAIL_IF(FaultOfFd("sync", fd));
  return NEXT(fdatasync)(fd);
}
int rename(const char* from, const char* to) {
  FAIL_IF(FaultOf("rename", to));
  return NEXT(rename)(from, to);
}
