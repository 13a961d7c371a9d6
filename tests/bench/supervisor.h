#ifndef ODYSSEY_TESTS_BENCH_SUPERVISOR_H_
#define ODYSSEY_TESTS_BENCH_SUPERVISOR_H_

// A real supervisor of the benchmark's own, and clients of it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "odyssey/ops/v1/metrics.grpc.pb.h"
#include "odyssey/supervisor/v1/changes.grpc.pb.h"
#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"
#include "tests/bench/child.h"

namespace odyssey::bench {

// odyssey-supervisor from this program's own directory, with its state in a temporary directory.
// Stopped, and the directory removed, when it goes out of scope. Needs root.
class Supervisor final {
 public:
  static Result<std::unique_ptr<Supervisor>> Start();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();

  std::string socket() const { return directory_ + "/run/supervisor.sock"; }
  // Of the agentd that uses it, whose copies of bundles it takes for what they are.
  std::string agentd_state() const { return directory_ + "/agentd"; }
  const std::string& directory() const { return directory_; }

 private:
  explicit Supervisor(std::string directory) : directory_(std::move(directory)) {}
  Status Launch();

  std::string directory_;
  std::optional<Child> process_;
};

struct CellOptions {
  std::string component;  // names the cell
  bool ephemeral = true;
  std::string workspace = "";  // a directory of the host; "" for a private one
  bool reviewed = false;       // writes to `workspace` go to a copy
  // Its policy is that of all such cells, so that the supervisor makes some ahead; else it is one
  // of its own.
  bool pooled = false;
};

// One connection. Blocking calls; usable from one thread at a time.
class Client final {
 public:
  explicit Client(const Supervisor& supervisor);

  Result<supervisor::v1::CellInfo> PrepareCell(const CellOptions& options);
  Status RemoveCell(const std::string& cell_id);
  // Waits until a cell is ready that was made ahead, and none is being made.
  Status AwaitPool();
  // Runs `argv`; OK only if it exits with 0. Answers the bytes of its stdout.
  Result<uint64_t> Exec(const std::string& cell_id, const std::vector<std::string>& argv);
  // Answers the bytes read.
  Result<uint64_t> Read(const std::string& cell_id, const std::string& path);
  Status Write(const std::string& cell_id, const std::string& path, const std::string& content);

  // Of the cell that was prepared as `component`, with reviewed writes. Each answers how many
  // changes.
  Result<uint32_t> ListChanges(const std::string& component);
  Result<uint32_t> CommitChanges(const std::string& component);
  Result<uint32_t> UndoCommit(const std::string& component);

 private:
  std::unique_ptr<supervisor::v1::Supervisor::Stub> stub_;
  std::unique_ptr<supervisor::v1::Changes::Stub> changes_;
  std::unique_ptr<ops::v1::Metrics::Stub> metrics_;
};

// The cell that `client` prepared, removed when it goes out of scope.
class ScopedCell final {
 public:
  static Result<std::unique_ptr<ScopedCell>> Make(Client* client, const CellOptions& options);
  ScopedCell(const ScopedCell&) = delete;
  ScopedCell& operator=(const ScopedCell&) = delete;
  ~ScopedCell();

  const supervisor::v1::CellInfo& info() const { return info_; }
  const std::string& id() const { return info_.cell_id(); }

 private:
  ScopedCell(Client* client, supervisor::v1::CellInfo info)
      : client_(client), info_(std::move(info)) {}
  Client* client_;
  supervisor::v1::CellInfo info_;
};

}  // namespace odyssey::bench

#endif  // ODYSSEY_TESTS_BENCH_SUPERVISOR_H_
