#include "ctl/doctor/probe_run.h"

#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <utility>

#include "common/os/file.h"
#include "ctl/client/client.h"

namespace odyssey::ctl {
namespace {

// Of probes, in a cell with an image: no root of its own, as in other cells.
constexpr char kImageUser[] = "1:1";

namespace fs = std::filesystem;
namespace v1 = ::odyssey::supervisor::v1;

// At most 15 characters, as names of processes are.
constexpr char kSibling[] = "odyprobe-beside";
constexpr char kNeighbour[] = "odyprobe-other";
constexpr char kDaemon[] = "odyprobe-daemon";
constexpr char kNeighbourPort[] = "4919";
constexpr char kNeighbourKey[] = "325521";
constexpr uint32_t kShortWallClockMs = 300;
constexpr int kPollStepMs = 10;

std::string NeighbourName(const std::string& component) { return component + "-other"; }

std::string Word(const char* name, const std::string& value) {
  std::string word = name;
  word += '=';
  word += value;
  return word;
}

// A cell that is removed in the end, whatever happens.
class ProbeCell final {
 public:
  ProbeCell(const v1::SupervisorStub& stub, v1::CellInfo info)
      : stub_(stub), info_(std::move(info)) {}
  ~ProbeCell() { (void)Remove(); }
  ProbeCell(const ProbeCell&) = delete;
  ProbeCell& operator=(const ProbeCell&) = delete;

  const v1::CellInfo& info() const { return info_; }
  const std::string& id() const { return info_.cell_id(); }

  Status Remove() {
    if (std::exchange(removed_, true)) return OkStatus();
    v1::RemoveCellRequest request;
    request.set_cell_id(info_.cell_id());
    request.set_purge(true);
    v1::RemoveCellResponse response;
    const Status status = stub_.RemoveCell({kCellCallMs}, request, &response);
    // Of a cell that ended with its last command, that it is gone is the answer.
    return status.code() == Code::kNotFound ? OkStatus() : status;
  }

 private:
  const v1::SupervisorStub& stub_;
  const v1::CellInfo info_;
  bool removed_ = false;
};

Result<std::unique_ptr<ProbeCell>> Prepare(const ProbeSite& site, const ProbeCellKind& kind,
                                           const std::string& component, bool single_use = true) {
  const bool bounds_memory = site.weaknesses.count("memory") == 0;
  v1::PrepareCellRequest request = MakeProbeRequest(kind, site.directory, component, bounds_memory);
  if (!site.image.empty()) {
    request.mutable_sandbox()->mutable_image()->set_reference(site.image);
    request.mutable_sandbox()->mutable_image()->set_user(kImageUser);
  }
  request.set_single_use(single_use);
  v1::PrepareCellResponse response;
  const Status status =
      site.calls.stub.PrepareCell({kCellCallMs, site.calls.interrupt->fd()}, request, &response);
  if (!status.ok()) {
    return status;
  }
  return std::make_unique<ProbeCell>(site.calls.stub, response.cell());
}

// "PID name" of every process of the host that has this uid.
std::vector<std::string> ProcessesOf(uint32_t uid) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const Result<std::string> status = ReadFile(entry.path() / "status", 16384);
    if (!status.ok()) continue;  // it ended meanwhile
    std::istringstream lines(*status);
    std::string word, name;
    uint32_t owner = 0;
    while (lines >> word) {
      if (word == "Name:") lines >> name;
      if (word == "Uid:" && lines >> owner) break;
    }
    if (owner == uid) found.push_back(pid + " " + name);
  }
  return found;
}

// Polls until there is none of that name, or "" for any, left.
std::string LeftOver(uint32_t uid, const std::string& name, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    std::string left;
    for (const std::string& process : ProcessesOf(uid)) {
      if (name.empty() || process.substr(process.find(' ') + 1) == name) left = process;
    }
    if (left.empty() || std::chrono::steady_clock::now() > end) return left;
    poll(nullptr, 0, kPollStepMs);
  }
}

// One kind of cell, from its making to what is left of it.
class CellProbing final {
 public:
  CellProbing(const ProbeSite& site, const ProbeCellKind& kind, std::string component,
              ProbeReport* report)
      : site_(site), kind_(kind), component_(std::move(component)), report_(report) {}

  // An error if there is no such cell to be had.
  Status Run() {
    ODY_ASSIGN_OR_RETURN(cell_, Prepare(site_, kind_, component_));
    ODY_ASSIGN_OR_RETURN(const auto other, Prepare(site_, kind_, NeighbourName(component_)));
    {
      ODY_ASSIGN_OR_RETURN(const auto sibling,
                           LingeringExec::Start(site_.calls, cell_->id(), SiblingCommand()));
      ODY_ASSIGN_OR_RETURN(const auto neighbour,
                           LingeringExec::Start(site_.calls, other->id(), NeighbourCommand()));
      Inside();
    }
    ODY_RETURN_IF_ERROR(Limits());
    Left();
    for (ProbeResult& result :
         site_.canaries->Check(kind_.Name(), kind_.network == policy::Network::kFull)) {
      report_->results.push_back(std::move(result));
    }
    return OkStatus();
  }

 private:
  // Another command of the same cell.
  static std::vector<std::string> SiblingCommand() {
    return {kProbeProgram, "linger", Word("name", kSibling)};
  }
  // A command of another cell.
  std::vector<std::string> NeighbourCommand() const {
    std::vector<std::string> argv = {kProbeProgram, "linger", Word("name", kNeighbour),
                                     Word("abstract", component_), Word("key", kNeighbourKey)};
    // With the host's network the port would be the host's, too.
    if (kind_.network != policy::Network::kFull) argv.push_back(Word("tcp", kNeighbourPort));
    return argv;
  }

  void Add(const char* id, ProbeVerdict verdict, std::string detail, const char* safe,
           const char* layer) {
    report_->results.push_back({.cell = kind_.Name(),
                                .id = id,
                                .verdict = verdict,
                                .detail = std::move(detail),
                                .safe = safe,
                                .layer = layer});
  }
  void AddContained(const char* id, const std::string& wrong, const char* safe, const char* layer) {
    Add(id, wrong.empty() ? ProbeVerdict::kContained : ProbeVerdict::kEscaped,
        wrong.empty() ? "seen from the host" : wrong, safe, layer);
  }

  void Inside() {
    std::vector<std::string> argv = {kProbeProgram, "run"};
    for (const auto& words :
         {ProbeCellWords(kind_), site_.host_words, site_.canaries->Words(), OtherWords()}) {
      argv.insert(argv.end(), words.begin(), words.end());
    }
    const ProbeExecResult result = RunProbeExec(site_.calls, cell_->id(), argv);
    AppendProbeOutput(kind_.Name(), result.out, &report_->results);
    if (result.status.ok() && result.err.empty()) return;
    Add("works.odyssey-probe", ProbeVerdict::kBroken, result.status.message() + result.err,
        "it runs", "");
  }

  std::vector<std::string> OtherWords() const {
    return {Word("sibling", kSibling), Word("neighbour", kNeighbour),
            Word("neighbour_tcp", kNeighbourPort), Word("neighbour_key", kNeighbourKey),
            Word("neighbour_abstract", component_)};
  }

  // What ends the command that tries it. In a cell that does not end with it, too.
  Status Limits() {
    ODY_ASSIGN_OR_RETURN(const auto cell, Prepare(site_, kind_, component_ + "-limits", false));
    const std::string much = std::to_string(kProbeMemoryBytes * 2);
    const ProbeExecResult eater =
        RunProbeExec(site_.calls, cell->id(), {kProbeProgram, "eat", much});
    AddContained("limits.memory",
                 eater.outcome.kind() == v1::OUTCOME_KIND_OOM_KILLED ? "" : Outcome(eater),
                 "the command ends, out of memory", "control group: memory");

    const ProbeExecResult stubborn =
        RunProbeExec(site_.calls, cell->id(), {kProbeProgram, "ignore"}, kShortWallClockMs);
    AddContained("limits.wall_clock",
                 stubborn.outcome.kind() == v1::OUTCOME_KIND_TIMED_OUT ? "" : Outcome(stubborn),
                 "the command ends at its time", "cell-init: SIGKILL to every descendant");

    const ProbeExecResult leaver =
        RunProbeExec(site_.calls, cell->id(), {kProbeProgram, "daemon", kDaemon});
    std::string wrong = LeftOver(cell->info().host_uid(), kDaemon, site_.gone);
    if (leaver.outcome.kind() != v1::OUTCOME_KIND_EXITED) wrong += Outcome(leaver);
    AddContained("limits.daemon", wrong, "nothing outlives its command",
                 "a pid namespace for each command");
    return OkStatus();
  }

  static std::string Outcome(const ProbeExecResult& result) {
    return v1::OutcomeKind_Name(result.outcome.kind()) + " " + result.status.message();
  }

  // Of the cell itself, once it is removed.
  void Left() {
    const Status status = cell_->Remove();
    if (!status.ok()) Add("works.remove", ProbeVerdict::kBroken, status.message(), "", "");
    // Without a uid of their own they are not told from those of this user.
    if (site_.weaknesses.count("uid") == 0) {
      const std::string process = LeftOver(cell_->info().host_uid(), "", site_.gone);
      AddContained("escape.host_processes", process.empty() ? "" : process + " is left",
                   "no process of the cell is left", "pid namespace; control group");
    }
    const std::string& tree = cell_->info().workspace_path();
    const bool gone = tree.empty() || access(tree.c_str(), F_OK) != 0;
    AddContained("leak.host_tree", gone ? "" : tree + " is left",
                 "no directory of the cell is left", "root");
    const Result<std::string> mounts = ReadFile("/proc/self/mountinfo", 16 << 20);
    const bool clean = mounts.ok() && mounts->find(site_.directory) == std::string::npos;
    AddContained("escape.host_mounts", clean ? "" : "a mount of the cell is left",
                 "no mount of the cell is the host's", "a private mount namespace");
  }

  const ProbeSite& site_;
  const ProbeCellKind& kind_;
  const std::string component_;
  ProbeReport* const report_;
  std::unique_ptr<ProbeCell> cell_;
};

}  // namespace

Status RunProbes(const ProbeSite& site, StatusLine* line, ProbeReport* report) {
  size_t number = 0;
  bool any = false;
  Status last;
  const std::vector<ProbeCellKind> kinds = ProbeCellKinds();
  for (const ProbeCellKind& kind : kinds) {
    if (site.calls.interrupt->signal() != 0) return Cancelled("interrupted");
    line->Show(Fraction(number, kinds.size(), "probing " + kind.Name()));
    const std::string component =
        "probe-" + std::to_string(getpid()) + "-" + std::to_string(++number);
    last = CellProbing(site, kind, component, report).Run();
    report->cells.push_back({kind.Name(), last.ok() ? "" : last.message()});
    any = any || last.ok();
  }
  ApplyWeaknesses(site.weaknesses, report);
  return any ? OkStatus() : last;
}

}  // namespace odyssey::ctl
