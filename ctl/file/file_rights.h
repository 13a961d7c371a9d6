#ifndef ODYSSEY_CTL_FILE_FILE_RIGHTS_H_
#define ODYSSEY_CTL_FILE_FILE_RIGHTS_H_

#include <sys/types.h>

#include "policy/ceiling/ceiling.h"

namespace odyssey::ctl {

// While it lives the calling thread makes and opens files as `owner`, by his uid and his first
// group. Changes nothing unless it is root.
class FileRights final {
 public:
  explicit FileRights(const ceiling::Owner& owner);
  ~FileRights();
  FileRights(const FileRights&) = delete;
  FileRights& operator=(const FileRights&) = delete;

 private:
  const gid_t group_;
  const uid_t user_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_FILE_FILE_RIGHTS_H_
