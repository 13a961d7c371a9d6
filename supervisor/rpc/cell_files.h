#ifndef ODYSSEY_SUPERVISOR_RPC_CELL_FILES_H_
#define ODYSSEY_SUPERVISOR_RPC_CELL_FILES_H_

// A directory of the rpc user's own with a file for each cell, by its key. Thread-safe, except
// Open; one Write of a key at a time.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "supervisor/rpc/record_files.h"

namespace odyssey::supervisor {

class CellFiles final {
 public:
  // As RecordFiles::Open.
  static Result<CellFiles> Open(int directory, const char* name, std::string what);

  static std::string NameOf(const v1::CellKey& key);

  // On disk when it returns OK.
  Status Write(const v1::CellKey& key, std::string_view bytes) const;
  // A file that is not there is fine.
  Status Remove(const v1::CellKey& key) const;
  // NOT_FOUND: there is none. At most `most` bytes.
  Result<std::string> Read(const std::string& name, size_t most) const;
  // Of the files, in no order.
  Result<std::vector<std::string>> Names() const;

 private:
  explicit CellFiles(RecordFiles files) : files_(std::move(files)) {}

  RecordFiles files_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_CELL_FILES_H_
