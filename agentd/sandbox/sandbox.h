#ifndef ODYSSEY_AGENTD_SANDBOX_SANDBOX_H_
#define ODYSSEY_AGENTD_SANDBOX_SANDBOX_H_

// The seam to the supervisor: cells, commands in them, files in them. Thread-safe.
// Errors of every call: UNAVAILABLE if the supervisor, or the cell under the call, ended; otherwise
// what supervisor.proto says.

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agentd/base/change_counts.h"
#include "agentd/base/denial.h"
#include "common/base/status.h"
#include "policy/model/request.h"

namespace odyssey::sandbox {

struct CellKey {
  std::string session_id, agent_id, kind, component;
  friend bool operator==(const CellKey&, const CellKey&) = default;
};

struct CellSpec {
  CellKey key;
  policy::SandboxRequest request;
  std::string bundle_digest;
  uint32_t owner_uid = 0;     // whose bounds apply
  bool allow_danger = false;  // the owner's own word, for danger_full_access
};

struct Cell {
  std::string id;
  CellKey key;
  bool created = false;  // false: a warm one answered
};

enum class Outcome {
  kExited,
  kSignalled,
  kTimedOut,
  kOomKilled,
  kDenied,
  kNotFound,
  kSetupFailed,
  kCancelled,
};

// "exited", "signalled", "timed_out", "oom_killed", "denied", "not_found", "setup_failed",
// "cancelled".
std::string_view OutcomeName(Outcome outcome);

struct ExecSpec {
  std::string cell_id;
  std::vector<std::string> argv;
  std::string cwd;  // empty: the workspace
  uint32_t wall_clock_ms = 0;
  uint64_t output_cap_bytes = 0;  // of each stream
  bool keep_output = false;       // a stream that the cap cuts is in full in the run's outbox
};

enum class OutputStream { kStdout, kStderr };

// Called from the thread that called Exec, in order. An error ends the command and is returned.
struct ExecSink {
  std::function<Status(const std::string& exec_id)> started;
  std::function<Status(OutputStream, std::string_view)> output;
  std::function<Status(const agent::Denial&)> denied;  // after all output; may be empty
};

// Where a file operation is made, and who is told if confinement refuses it: before the operation
// returns, from the same thread.
struct FilePlace {
  FilePlace(std::string cell) : cell_id(std::move(cell)) {}  // NOLINT(google-explicit-constructor)
  FilePlace(std::string cell, std::function<void(const agent::Denial&)> told)
      : cell_id(std::move(cell)), denied(std::move(told)) {}

  std::string cell_id;
  std::function<void(const agent::Denial&)> denied;  // may be empty
};

struct ExecResult {
  Outcome outcome = Outcome::kExited;
  int32_t exit_code = 0;  // with kExited
  int32_t signal = 0;     // with kSignalled
  std::string message;
  bool stdout_truncated = false;
  bool stderr_truncated = false;
  std::string run_id;  // its directories are /cell/runs/RUN_ID/{inbox,outbox,work,tmp}
};

struct FileContent {
  std::string content;
  uint64_t total_bytes = 0;
  bool truncated = false;
  uint64_t next_offset = 0;
};

struct FileEntry {
  std::string name, path, type;
};

struct FileList {
  std::vector<FileEntry> entries;
  bool truncated = false;
};

struct SupervisorInfo {
  std::string version;
};

class Sandbox {
 public:
  virtual ~Sandbox() = default;

  virtual Result<SupervisorInfo> GetInfo() = 0;
  virtual Result<Cell> PrepareCell(const CellSpec& spec) = 0;
  // Fails as PrepareCell would if the operator does not allow the cell; makes nothing.
  virtual Status CheckCell(const CellSpec& spec) = 0;
  virtual Result<std::vector<Cell>> ListCells() = 0;
  // What waits for a commit in the directories that the cell of this key writes on a copy.
  virtual Result<agent::ChangeCounts> CountChanges(const CellKey& key) = 0;
  // Copies a cell's directories, and the changes in them, for a cell of another key, which has
  // none.
  virtual Status ForkCell(const CellKey& from, const CellKey& to) = 0;
  virtual Status RemoveCell(const std::string& cell_id, bool purge) = 0;

  // Blocks until the command has ended. CANCELLED after `stop`; its process tree is gone then.
  virtual Result<ExecResult> Exec(const ExecSpec& spec, const ExecSink& sink,
                                  std::stop_token stop) = 0;

  virtual Result<FileContent> ReadFile(const FilePlace& place, const std::string& path,
                                       uint64_t offset, uint64_t max_bytes) = 0;
  // Returns the bytes written. `mode` of a new file, 0: 0644.
  virtual Result<uint64_t> WriteFile(const FilePlace& place, const std::string& path,
                                     std::string_view content, uint32_t mode) = 0;
  // Returns the number of replacements.
  virtual Result<uint32_t> EditFile(const FilePlace& place, const std::string& path,
                                    std::string_view old_text, std::string_view new_text,
                                    bool replace_all) = 0;
  virtual Result<FileList> ListFiles(const FilePlace& place, const std::string& path) = 0;
};

}  // namespace odyssey::sandbox

#endif  // ODYSSEY_AGENTD_SANDBOX_SANDBOX_H_
