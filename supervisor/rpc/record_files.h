#ifndef ODYSSEY_SUPERVISOR_RPC_RECORD_FILES_H_
#define ODYSSEY_SUPERVISOR_RPC_RECORD_FILES_H_

// A directory of the rpc user's own with files that are written whole. Thread-safe, except Open;
// one Write of a name at a time.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::supervisor {

class RecordFiles final {
 public:
  // Makes `name` in `directory`, which is borrowed for the call. `what` one file is, for errors.
  static Result<RecordFiles> Open(int directory, const char* name, std::string what);

  // Names are single components that do not begin with a dot. On disk when it returns OK.
  Status Write(const std::string& name, std::string_view bytes) const;
  // A file that is not there is fine.
  Status Remove(const std::string& name) const;
  // NOT_FOUND: there is none. At most `most` bytes.
  Result<std::string> Read(const std::string& name, size_t most) const;
  // Of the files, in no order.
  Result<std::vector<std::string>> Names() const;

 private:
  RecordFiles(UniqueFd directory, std::string what)
      : directory_(std::move(directory)), what_(std::move(what)) {}

  UniqueFd directory_;
  std::string what_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_RECORD_FILES_H_
