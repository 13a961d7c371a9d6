#ifndef ODYSSEY_SUPERVISOR_RPC_FILE_TRANSFER_H_
#define ODYSSEY_SUPERVISOR_RPC_FILE_TRANSFER_H_

// Files into the inbox of a run and out of its outbox, by way of the cell's file worker. Everything
// here blocks on the worker, and that is the back-pressure: the next message of a client is read
// when the last one is written.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::supervisor {

// One request to the cell's file worker and its answer; an answer that carries an error is one.
// Blocking.
using AskWorker = std::function<Result<tool::Response>(const tool::Request&)>;

inline constexpr size_t kMaxInjectedFiles = 1024;
inline constexpr uint64_t kMaxInjectedBytes = uint64_t{1} << 30;
inline constexpr uint64_t kMaxCollectedBytes = uint64_t{1} << 30;
inline constexpr size_t kMaxTransferPiece = 1024 * 1024;

// INVALID_ARGUMENT naming file.path, unless `path` is relative and made of names without "." and
// "..". Pure.
Status CheckTransferPath(const std::string& path);

// One InjectFiles call. Unless it is finished, nothing of it stays.
class Injection final {
 public:
  // `run` is the run's name; its directories are there.
  Injection(AskWorker ask, const std::string& run)
      : ask_(std::move(ask)), inbox_(run + "/inbox/") {}
  ~Injection();
  Injection(const Injection&) = delete;
  Injection& operator=(const Injection&) = delete;

  // ALREADY_EXISTS, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, or what the worker says.
  Status BeginFile(const std::string& path, uint32_t mode);
  Status Add(std::string data);
  Status Finish();

  uint32_t files() const { return static_cast<uint32_t>(made_.size()); }
  uint64_t bytes() const { return bytes_; }

 private:
  struct Made {
    std::string path;
    uint32_t directories = 0;  // made for it
  };
  Status EndFile();
  Status Write(uint32_t mode);

  const AskWorker ask_;
  const std::string inbox_;
  std::vector<Made> made_;
  std::string path_;  // of the file under way; "" before the first
  uint32_t mode_ = 0;
  std::string piece_;     // given, not yet written
  uint64_t written_ = 0;  // of this file
  bool created_ = false;
  uint64_t bytes_ = 0;
  bool finished_ = false;
};

struct CollectedFile {
  std::string path;  // relative to the outbox
  uint64_t size = 0;
  uint32_t mode = 0;
  std::string skipped;  // not empty: why
};

// Where Collect delivers: for each file first this, then its bytes. False: the client has gone.
struct CollectSink {
  std::function<bool(const CollectedFile&)> file;
  std::function<bool(std::string)> data;
};

// The regular files of the outbox, sorted by path, as long as they are kMaxCollectedBytes together:
// a file without a byte on its disk may claim more than the client's disk has. A file that changes
// meanwhile comes with fewer bytes than its size, never with more. NOT_FOUND: no such run.
Status Collect(const AskWorker& ask, const std::string& run, const CollectSink& sink);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_FILE_TRANSFER_H_
