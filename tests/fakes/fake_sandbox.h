#ifndef ODYSSEY_TESTS_FAKES_FAKE_SANDBOX_H_
#define ODYSSEY_TESTS_FAKES_FAKE_SANDBOX_H_

// A Sandbox without processes: cells are entries of a list, files a map per session, commands what
// the test's `on_exec` does. Thread-safe.

#include <atomic>
#include <climits>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "agentd/sandbox/sandbox.h"

namespace odyssey::fakes {

namespace pb = ::odyssey::supervisor::v1;

// What a command does, for `on_exec`.
inline Status Begin(const sandbox::ExecSink& sink, const std::string& run_id = "") {
  pb::ExecStarted started;
  started.set_exec_id("exe_1");
  started.set_run_id(run_id);
  return sink.started(started);
}
inline Status Print(const sandbox::ExecSink& sink, const std::string& text,
                    pb::OutputStream stream = pb::OUTPUT_STREAM_STDOUT) {
  pb::ExecOutput output;
  output.set_stream(stream);
  output.set_data(text);
  return sink.output(output);
}
inline pb::ExecOutcome Exited(int32_t exit_code = 0) {
  pb::ExecOutcome outcome;
  outcome.set_kind(pb::OUTCOME_KIND_EXITED);
  outcome.set_exit_code(exit_code);
  return outcome;
}

class FakeSandbox final : public sandbox::Sandbox {
 public:
  using ExecFunction = std::function<Result<pb::ExecOutcome>(
      const pb::ExecStart&, const sandbox::ExecSink&, std::stop_token)>;

  // Set before use. The default prints the command back and exits 0.
  ExecFunction on_exec = [](const pb::ExecStart& start, const sandbox::ExecSink& sink,
                            std::stop_token) -> Result<pb::ExecOutcome> {
    ODY_RETURN_IF_ERROR(Begin(sink));
    ODY_RETURN_IF_ERROR(Print(sink, *start.argv().rbegin()));
    return Exited();
  };

  // Whether ReadFile needs a cell that PrepareCell made.
  void MustExist() { must_exist_ = true; }

  // What WriteFile tells, and is refused.
  std::optional<pb::Denial> refuse_writes;

  std::map<std::string, std::string> links;  // a path → where it leads, absolute

  Result<pb::ChangeCounts> changes = pb::ChangeCounts();  // what CountChanges answers
  Status fork_status;  // what ForkCell answers; OK: the files are copied

  std::atomic<size_t> most_cells = 1000;  // that PrepareCell makes

  std::atomic<uint32_t> running_execs = 0;  // what ListCells says of every cell

  // Set before use. What the operator and the host say of a cell: CheckCell and PrepareCell fail
  // so.
  std::function<Status(const sandbox::CellSpec&)> on_check = [](const auto&) { return OkStatus(); };

  // What RecordApproval answers from now on; OK: recorded.
  void FailRecords(Status status) {
    std::lock_guard lock(mutex_);
    record_status_ = std::move(status);
  }
  std::vector<pb::RecordApprovalRequest> approvals() {
    std::lock_guard lock(mutex_);
    return approvals_;
  }

  // Called at the beginning of RemoveCell, without the lock.
  std::function<void()> on_remove = [] {};

  // What the next calls of PrepareCell and CheckCell answer, or so many of them; OK: a cell.
  void FailPrepare(Status status, int times = INT_MAX) {
    std::lock_guard lock(mutex_);
    prepare_status_ = std::move(status);
    prepare_failures_ = times;
  }
  std::map<std::string, std::string> files(const std::string& session_id) {
    std::lock_guard lock(mutex_);
    return files_[session_id];
  }
  std::vector<sandbox::CellSpec> prepared() {
    std::lock_guard lock(mutex_);
    return prepared_;
  }
  std::vector<std::pair<sandbox::CellKey, sandbox::CellKey>> forked() {
    std::lock_guard lock(mutex_);
    return forked_;
  }
  std::vector<std::string> commands() {
    std::lock_guard lock(mutex_);
    return commands_;
  }

  Result<sandbox::SupervisorInfo> GetInfo() override { return sandbox::SupervisorInfo{"fake"}; }

  Result<sandbox::Cell> PrepareCell(const sandbox::CellSpec& spec) override {
    std::lock_guard lock(mutex_);
    ODY_RETURN_IF_ERROR(NextPrepare());
    ODY_RETURN_IF_ERROR(on_check(spec));
    const std::string id = "cel_" + spec.key.session_id;
    if (cells_.count(id) == 0 && cells_.size() >= most_cells) {
      return ResourceExhausted("the most cells are live");
    }
    prepared_.push_back(spec);
    return sandbox::Cell{id, spec.key, cells_.insert({id, spec.key}).second};
  }
  Status CheckCell(const sandbox::CellSpec& spec) override {
    std::lock_guard lock(mutex_);
    ODY_RETURN_IF_ERROR(NextPrepare());
    return on_check(spec);
  }
  Result<std::vector<sandbox::Cell>> ListCells() override {
    std::lock_guard lock(mutex_);
    std::vector<sandbox::Cell> out;
    for (const auto& [id, key] : cells_) out.push_back({id, key, false, running_execs});
    return out;
  }
  Result<pb::ChangeCounts> CountChanges(const sandbox::CellKey&) override { return changes; }
  Status ForkCell(const sandbox::CellKey& from, const sandbox::CellKey& to) override {
    std::lock_guard lock(mutex_);
    forked_.emplace_back(from, to);
    ODY_RETURN_IF_ERROR(fork_status);
    files_[to.session_id] = files_[from.session_id];
    return OkStatus();
  }
  Status RecordApproval(const pb::RecordApprovalRequest& record) override {
    std::lock_guard lock(mutex_);
    ODY_RETURN_IF_ERROR(record_status_);
    approvals_.push_back(record);
    return OkStatus();
  }
  Status RemoveCell(const std::string& cell_id, bool purge) override {
    on_remove();
    std::lock_guard lock(mutex_);
    if (cells_.erase(cell_id) == 0) return NotFound("cell_id " + cell_id + ": no such cell");
    if (purge) files_.erase(SessionOf(cell_id));
    return OkStatus();
  }

  Result<pb::ExecOutcome> Exec(const pb::ExecStart& start, const sandbox::ExecSink& sink,
                               std::stop_token stop) override {
    {
      std::lock_guard lock(mutex_);
      commands_.push_back(*start.argv().rbegin());
    }
    return on_exec(start, sink, stop);
  }

  Result<pb::FileOpResponse> FileOp(const sandbox::FilePlace& place,
                                    pb::FileOpRequest request) override {
    std::lock_guard lock(mutex_);
    auto& files = files_[SessionOf(place.cell_id)];
    pb::FileOpResponse out;
    ODY_RETURN_IF_ERROR(CheckPlace(request));
    if (place.links == sandbox::Links::kRefuse) ODY_RETURN_IF_ERROR(CheckLinks(request));
    switch (request.op_case()) {
      case pb::FileOpRequest::kRead:
        if (cells_.count(place.cell_id) == 0 && must_exist_) return Unavailable("the cell ended");
        ODY_RETURN_IF_ERROR(Read(files, request.read(), out.mutable_read()));
        return out;
      case pb::FileOpRequest::kWrite:
        if (refuse_writes) {
          if (place.denied) place.denied(*refuse_writes);
          return PermissionDenied("write " + request.write().path() + ": Read-only file system");
        }
        files[request.write().path()] = request.write().content();
        out.mutable_write()->set_bytes(request.write().content().size());
        return out;
      case pb::FileOpRequest::kEdit:
        ODY_RETURN_IF_ERROR(Edit(request.edit(), &files));
        out.mutable_edit()->set_replacements(1);
        return out;
      case pb::FileOpRequest::kMultiEdit:
        for (pb::FileEditStep& step : *request.mutable_multi_edit()->mutable_edits()) {
          pb::FileEdit edit;
          edit.set_path(request.multi_edit().path());
          edit.set_old_text(step.old_text());
          edit.set_new_text(step.new_text());
          ODY_RETURN_IF_ERROR(Edit(edit, &files));
        }
        out.mutable_multi_edit()->set_replacements(request.multi_edit().edits_size());
        return out;
      case pb::FileOpRequest::kList:
        for (const auto& [path, content] : files) {
          pb::FileEntry* entry = out.mutable_list()->add_entries();
          entry->set_name(path);
          entry->set_path(path);
          entry->set_type("file");
        }
        return out;
      default:
        return InvalidArgument("op: not one of the fake's");
    }
  }

 private:
  // As the file worker says it, of places that no cell shows to tools.
  static Status CheckPlace(const pb::FileOpRequest& request) {
    const std::string& path = request.has_list() ? request.list().path() : request.read().path();
    if (path != "/" && path != "/etc" && path.substr(0, 5) != "/etc/") return OkStatus();
    return PermissionDenied("path " + path + " is outside the visible workspace");
  }
  Status CheckLinks(const pb::FileOpRequest& request) const {
    const std::string& path = request.has_read()    ? request.read().path()
                              : request.has_write() ? request.write().path()
                              : request.has_edit()  ? request.edit().path()
                              : request.has_list()  ? request.list().path()
                                                    : request.multi_edit().path();
    const auto link = links.find(path);
    if (link == links.end()) return OkStatus();
    return Status(Code::kAborted, "path `" + path + "` leads to " + link->second)
        .With({.field = "path", .value = link->second});
  }

  using Files = std::map<std::string, std::string>;

  static Status Read(const Files& files, const pb::FileRead& asked, pb::FileReadResult* out) {
    const auto it = files.find(asked.path());
    if (it == files.end()) {
      const auto below = files.lower_bound(asked.path() + "/");
      const bool is_directory =
          below != files.end() &&
          below->first.compare(0, asked.path().size() + 1, asked.path() + "/") == 0;
      if (is_directory) return FailedPrecondition("path `" + asked.path() + "` is a directory");
      return NotFound("open " + asked.path() + ": No such file or directory");
    }
    const uint64_t total = it->second.size();
    std::string content = asked.offset() < total ? it->second.substr(asked.offset()) : "";
    content = content.substr(0, asked.max_bytes() == 0 ? 200'000 : asked.max_bytes());
    const uint64_t end = asked.offset() + content.size();
    out->set_content(content);
    out->set_total_bytes(total);
    out->set_truncated(end < total);
    out->set_next_offset(end < total ? end : 0);
    return OkStatus();
  }
  static Status Edit(const pb::FileEdit& asked, Files* files) {
    const auto it = files->find(asked.path());
    const size_t at = it == files->end() ? std::string::npos : it->second.find(asked.old_text());
    if (at == std::string::npos) return FailedPrecondition("old_text not found");
    it->second.replace(at, asked.old_text().size(), asked.new_text());
    return OkStatus();
  }
  static std::string SessionOf(const std::string& cell_id) { return cell_id.substr(4); }

  // With mutex_ held.
  Status NextPrepare() {
    if (prepare_failures_ == 0) return OkStatus();
    --prepare_failures_;
    return prepare_status_;
  }

  std::atomic<bool> must_exist_ = false;
  std::mutex mutex_;
  Status prepare_status_, record_status_;
  int prepare_failures_ = 0;
  std::vector<pb::RecordApprovalRequest> approvals_;
  std::map<std::string, sandbox::CellKey> cells_;
  std::map<std::string, std::map<std::string, std::string>> files_;
  std::vector<sandbox::CellSpec> prepared_;
  std::vector<std::string> commands_;
  std::vector<std::pair<sandbox::CellKey, sandbox::CellKey>> forked_;
};

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_FAKE_SANDBOX_H_
