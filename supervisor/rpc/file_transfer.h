#ifndef ODYSSEY_SUPERVISOR_RPC_FILE_TRANSFER_H_
#define ODYSSEY_SUPERVISOR_RPC_FILE_TRANSFER_H_

// Files into a directory of a cell, mostly a run's inbox, and out of one, by way of the cell's file
// worker. Everything
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

// `path` as the file worker takes it: absolute, from `workspace` if it is not. INVALID_ARGUMENT
// naming `field`, if ".." or a NUL character is in it. Pure.
Result<std::string> PlaceInCell(const std::string& field, const std::string& path,
                                const std::string& workspace);

// Whether a file that is there is removed for one of the same name.
enum class Existing { kKeep, kReplace };

// One InjectFiles call. Unless it is finished, nothing of it stays.
class Injection final {
 public:
  // `directory` as tool::Request has paths; a run's is there.
  Injection(AskWorker ask, const std::string& directory, Existing existing = Existing::kKeep)
      : ask_(std::move(ask)), directory_(directory + "/"), existing_(existing) {}
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
  const std::string directory_;
  const Existing existing_;
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
  std::string path;  // relative to what is collected; of one file its name
  uint64_t size = 0;
  uint32_t mode = 0;
  std::string skipped;  // not empty: why
};

// Where Collect delivers: for each file first this, then its bytes. False: the client has gone.
struct CollectSink {
  std::function<bool(const CollectedFile&)> file;
  std::function<bool(std::string)> data;
};

// The regular files of the directory `top`, or the one that `top` is, sorted by path, as long as
// they are kMaxCollectedBytes together: a file without a byte on its disk may claim more than the
// client's disk has. A file that changes meanwhile comes with fewer bytes than its size, never with
// more. NOT_FOUND: there is none.
Status Collect(const AskWorker& ask, const std::string& top, const CollectSink& sink);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_FILE_TRANSFER_H_
