#ifndef ODYSSEY_AGENTD_SANDBOX_SANDBOX_H_
#define ODYSSEY_AGENTD_SANDBOX_SANDBOX_H_

// The seam to the supervisor: cells, commands in them, files in them. Thread-safe.
// Errors of every call: UNAVAILABLE if the supervisor, or the cell under the call, ended; otherwise
// what supervisor.proto says.

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "agentd/sandbox/exec_feed.h"
#include "common/base/status.h"
#include "odyssey/supervisor/v1/changes.pb.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"
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
  // PrepareCell fails with FAILED_PRECONDITION where commands run that the new cell would kill.
  bool spare_running = false;
  std::vector<std::string> granted_by;  // approvals that added to the request, for the audit log
};

struct Cell {
  std::string id;
  CellKey key;
  bool created = false;  // false: a warm one answered
  uint32_t running_execs = 0;
};

// Called from the thread that called Exec, in order. An error ends the command and is returned.
struct ExecSink {
  std::function<Status(const supervisor::v1::ExecStarted&)> started;
  std::function<Status(const supervisor::v1::ExecOutput&)> output;
  std::function<Status(const supervisor::v1::Denial&)> denied;  // after all output; may be empty
  // Each of ExecOutcome.egress, after the denials; may be empty.
  std::function<Status(const supervisor::v1::EgressDecision&)> decided;
  // What the command is sent, with start.open_stdin its stdin; null: nothing. Exec ends it.
  ExecFeed* feed = nullptr;
};

// Of symbolic links in the path of a file operation, in any component.
enum class Links { kFollow, kRefuse };

// Where and how a file operation is made, and what is called if confinement refuses it: before the
// operation returns, from the same thread.
struct FilePlace {
  FilePlace(std::string cell, Links how) : cell_id(std::move(cell)), links(how) {}
  FilePlace(std::string cell) : cell_id(std::move(cell)) {}  // NOLINT(google-explicit-constructor)
  FilePlace(std::string cell, std::function<void(const supervisor::v1::Denial&)> told)
      : cell_id(std::move(cell)), denied(std::move(told)) {}

  std::string cell_id;
  std::function<void(const supervisor::v1::Denial&)> denied;  // may be empty
  Links links = Links::kFollow;
};

// Of a file operation that was made with Links::kRefuse and whose path has a link: the absolute
// path, without links, that it leads to. Nothing: no failure, or another one.
std::optional<std::string> LeadsTo(const Status& status);

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
  virtual Result<supervisor::v1::ChangeCounts> CountChanges(const CellKey& key) = 0;
  // Copies a cell's directories, and the changes in them, for a cell of another key, which has
  // none.
  virtual Status ForkCell(const CellKey& from, const CellKey& to) = 0;
  virtual Status RemoveCell(const std::string& cell_id, bool purge) = 0;

  // Puts the answer to a request for approval into the audit log; on disk when it returns.
  virtual Status RecordApproval(const supervisor::v1::RecordApprovalRequest& record) = 0;

  // Blocks until the command has ended; `start` names its cell. CANCELLED after `stop`; its process
  // tree is gone then.
  virtual Result<supervisor::v1::ExecOutcome> Exec(const supervisor::v1::ExecStart& start,
                                                   const ExecSink& sink, std::stop_token stop) = 0;

  // One operation; `request` says which, and gets its cell and what links are from `place`.
  virtual Result<supervisor::v1::FileOpResponse> FileOp(const FilePlace& place,
                                                        supervisor::v1::FileOpRequest request) = 0;

  // FileOp, of the operations that agentd makes for itself.
  Result<supervisor::v1::FileReadResult> ReadFile(const FilePlace& place, const std::string& path,
                                                  uint64_t offset, uint64_t max_bytes);
  // `mode` of a new file, 0: 0644.
  Status WriteFile(const FilePlace& place, const std::string& path, std::string content,
                   uint32_t mode);
  Result<supervisor::v1::FileListResult> ListFiles(const FilePlace& place, const std::string& path);
};

}  // namespace odyssey::sandbox

#endif  // ODYSSEY_AGENTD_SANDBOX_SANDBOX_H_
