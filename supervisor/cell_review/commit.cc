#include "supervisor/cell_review/commit.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/base/sha256.h"
#include "common/diff/diff.h"
#include "supervisor/cell_review/host_writer.h"
#include "supervisor/cell_review/journal.h"

namespace odyssey::cell_review {
namespace {

constexpr uint64_t kMaxText = uint64_t{16} << 20;  // of a file that is committed by hunks

// What is to be done for one path of a commit, beside its record.
struct Plan {
  Operation operation;
  std::optional<Node> seen;
  std::optional<std::string> text;  // of chosen hunks; else the upper layer's file
};

class Committer final {
 public:
  Committer(Reviewed* reviewed, uint64_t number, const std::vector<review::Selection>& selections)
      : layers_(*reviewed), number_(number), selections_(selections) {}

  Result<Outcome> Run(const ChangeList& list) {
    for (const Listed& listed : list.changes) {
      const Status status = Choose(listed);
      if (!status.ok()) Refuse(listed.change, status.message());
    }
    if (plans_.empty()) return std::move(outcome_);
    ODY_RETURN_IF_ERROR(AddParents());
    ODY_ASSIGN_OR_RETURN(Journal journal, Journal::Open(&layers_.store));
    Record record = {.number = number_, .time = time(nullptr)};
    for (const auto& [path, plan] : plans_) record.operations.push_back(plan.operation);
    ODY_ASSIGN_OR_RETURN(Entry entry, journal.Prepare(&layers_, record));
    ODY_RETURN_IF_ERROR(journal.Move(&entry, Stage::kApplying));
    Written written = WriteToHost(&layers_.host, MakeSteps(entry.number), Mode::kForward);
    ODY_RETURN_IF_ERROR(journal.Move(&entry, Stage::kDone));
    for (Refusal& refusal : written.refused) {
      plans_.erase(refusal.path);
      outcome_.refused.push_back({refusal.path, refusal.why.message(), ""});
    }
    if (written.done == 0) {
      ODY_RETURN_IF_ERROR(journal.Remove(entry));
      return std::move(outcome_);
    }
    ODY_RETURN_IF_ERROR(RecordBases());
    ODY_RETURN_IF_ERROR(journal.Trim());
    outcome_.commit = entry.number;
    outcome_.done = chosen_ - std::min(chosen_, static_cast<uint32_t>(written.refused.size()));
    return std::move(outcome_);
  }

 private:
  void Refuse(const review::Change& change, std::string why) {
    outcome_.refused.push_back({change.path, std::move(why), ""});
  }

  // The narrowest selection that holds the change.
  const review::Selection* SelectionOf(const review::Change& change) const {
    const review::Selection* best = nullptr;
    for (const review::Selection& one : selections_) {
      const bool holds = IsBelow(change.path, one.path) ||
                         (!change.from.empty() && IsBelow(change.from, one.path));
      if (holds && (best == nullptr || one.path.size() >= best->path.size())) best = &one;
    }
    return best;
  }

  Status Choose(const Listed& listed) {
    const review::Change& change = listed.change;
    const review::Selection* const selection = SelectionOf(change);
    if (!change.mark.empty() && (selection == nullptr || !selection->marked)) {
      outcome_.refused.push_back({change.path, change.mark, change.mark});
      return OkStatus();
    }
    if (!change.conflict.empty()) return FailedPrecondition(change.conflict);
    ++chosen_;
    if (listed.from) Add(*listed.from);
    if (selection == nullptr || selection->hunks.empty()) {
      Add(listed.found);
      return OkStatus();
    }
    return AddHunks(listed, *selection);
  }

  Plan& Add(const Found& found) {
    Plan& plan = plans_[found.path];
    plan.operation = {.path = found.path,
                      .was = found.host,
                      .is = found.upper,
                      .was_modified = found.host_node.modified,
                      .is_modified = found.upper_node.modified};
    plan.seen = found.host_node;
    return plan;
  }

  Status AddHunks(const Listed& listed, const review::Selection& selection) {
    const Found& found = listed.found;
    const bool text = found.host.kind == Kind::kFile && found.upper.kind == Kind::kFile &&
                      !listed.change.binary && listed.change.kind != review::ChangeKind::kRenamed;
    if (!text) {
      --chosen_;
      return InvalidArgument("hunks: only of a text file that was modified");
    }
    ODY_ASSIGN_OR_RETURN(const std::string host, layers_.host.Read(found.path, kMaxText));
    ODY_ASSIGN_OR_RETURN(const std::string upper, layers_.upper.Read(found.path, kMaxText));
    if (Sha256Hex(host) != found.host.print || Sha256Hex(upper) != found.upper.print) {
      --chosen_;
      return Status(Code::kAborted, "it changed just now; look at it again");
    }
    const std::vector<diff::Hunk> hunks = diff::Compare(host, upper);
    const std::set<uint32_t> chosen(selection.hunks.begin(), selection.hunks.end());
    if (*chosen.begin() == 0 || *chosen.rbegin() > hunks.size()) {
      --chosen_;
      return InvalidArgument("hunks: 1 to " + std::to_string(hunks.size()) + " are allowed");
    }
    Plan& plan = Add(found);
    plan.text = diff::Apply(host, hunks, chosen);
    plan.operation.is.size = plan.text->size();
    plan.operation.is.print = Sha256Hex(*plan.text);
    // The mode changes with the last of them.
    if (chosen.size() < hunks.size()) plan.operation.is.mode = found.host.mode;
    return OkStatus();
  }

  // Directories that the host does not have, on the way to what is put.
  Status AddParents() {
    std::vector<std::string> paths;
    for (const auto& [path, plan] : plans_) {
      if (plan.operation.is.kind != Kind::kNone) paths.push_back(path);
    }
    for (const std::string& path : paths) {
      for (std::string at = ParentOf(path); !at.empty(); at = ParentOf(at)) {
        if (plans_.count(at) != 0) break;
        ODY_ASSIGN_OR_RETURN(const Node host, layers_.host.Look(at));
        if (host.kind != Kind::kNone) break;
        ODY_ASSIGN_OR_RETURN(const Node upper, layers_.upper.Look(at));
        if (upper.kind != Kind::kDirectory) break;
        plans_[at].operation = {.path = at,
                                .was = {},
                                .is = {.kind = Kind::kDirectory, .mode = upper.mode & kModeBits}};
      }
    }
    return OkStatus();
  }

  std::vector<Step> MakeSteps(uint64_t number) {
    std::vector<Step> steps;
    size_t index = 0;
    for (const auto& [path, plan] : plans_) {
      Step step = {.path = path,
                   .from = plan.operation.was,
                   .to = plan.operation.is,
                   .modified = plan.operation.is_modified,
                   .temporary = TemporaryName(number, index++),
                   .open = nullptr,
                   .seen = plan.seen};
      step.open = [this, name = path, text = plan.text]() -> Result<Source> {
        Source source;
        source.text = text;
        if (text) return source;
        ODY_ASSIGN_OR_RETURN(source.file, layers_.upper.OpenFile(name));
        return source;
      };
      steps.push_back(std::move(step));
    }
    return steps;
  }

  // From now on the host's own changes are told from here.
  Status RecordBases() {
    ODY_ASSIGN_OR_RETURN(BaseStore bases, LoadBases(&layers_.store));
    for (const auto& [path, plan] : plans_) {
      Base& base = bases.paths[path];
      base.known = true;
      base.state = plan.operation.is;
      base.host_inode = 0;  // it is another file now
    }
    return SaveBases(bases, &layers_.store);
  }

  Reviewed& layers_;
  const uint64_t number_;
  const std::vector<review::Selection>& selections_;
  std::map<std::string, Plan> plans_;
  uint32_t chosen_ = 0;  // changes, a rename counted once
  Outcome outcome_;
};

// Whether an attempt may have left files of its own.
enum class CutOff { kNo, kYes };

// Back to what was, by the copies of a commit. A path that was left out of it is there already.
Result<Written> Restore(Reviewed* reviewed, Journal* journal, const Entry& entry,
                        const Record& record, CutOff cut_off) {
  std::vector<Step> steps;
  for (size_t i = 0; i < record.operations.size(); ++i) {
    const Operation& operation = record.operations[i];
    steps.push_back({.path = operation.path,
                     .from = operation.is,
                     .to = operation.was,
                     .modified = operation.was_modified,
                     .temporary = TemporaryName(record.number, i),
                     .open = [=] { return journal->OpenCopy(entry, operation, i); },
                     .seen = std::nullopt});
    if (cut_off == CutOff::kNo) continue;
    std::string name;
    const auto parent = reviewed->host.Parent(operation.path, &name);
    if (parent.ok()) unlinkat(*parent, steps.back().temporary.c_str(), 0);
  }
  Written written = WriteToHost(&reviewed->host, std::move(steps), Mode::kRecover);
  // The host has what it had: that is what the cell's changes are judged by.
  ODY_ASSIGN_OR_RETURN(BaseStore bases, LoadBases(&reviewed->store));
  for (const Operation& operation : record.operations) {
    Base& base = bases.paths[operation.path];
    base.known = true;
    base.state = operation.was;
    base.host_inode = 0;
  }
  for (const Refusal& refusal : written.refused) bases.paths.erase(refusal.path);
  ODY_RETURN_IF_ERROR(SaveBases(bases, &reviewed->store));
  return written;
}

}  // namespace

Status Recover(Reviewed* reviewed) {
  ODY_ASSIGN_OR_RETURN(Journal journal, Journal::Open(&reviewed->store));
  const std::vector<Entry> entries = journal.entries();
  for (const Entry& entry : entries) {
    if (entry.stage == Stage::kDone) continue;
    if (entry.stage != Stage::kPrepared) {
      ODY_ASSIGN_OR_RETURN(const Record record, journal.Load(entry));
      ODY_RETURN_IF_ERROR(Restore(reviewed, &journal, entry, record, CutOff::kYes).status());
    }
    ODY_RETURN_IF_ERROR(journal.Remove(entry));
  }
  return OkStatus();
}

Result<bool> IsCutOff(Reviewed* reviewed) {
  ODY_ASSIGN_OR_RETURN(const Journal journal, Journal::Open(&reviewed->store));
  return std::any_of(journal.entries().begin(), journal.entries().end(),
                     [](const Entry& entry) { return entry.stage != Stage::kDone; });
}

Result<uint64_t> NewestCommit(Reviewed* reviewed) {
  ODY_ASSIGN_OR_RETURN(const Journal journal, Journal::Open(&reviewed->store));
  return journal.entries().empty() ? 0 : journal.entries().back().number;
}

Result<Outcome> CommitChanges(Reviewed* reviewed, uint64_t number, const ChangeList& list,
                              const std::vector<review::Selection>& selections) {
  return Committer(reviewed, number, selections).Run(list);
}

Result<Outcome> UndoCommit(Reviewed* reviewed, uint64_t number) {
  ODY_ASSIGN_OR_RETURN(Journal journal, Journal::Open(&reviewed->store));
  Outcome outcome;
  if (journal.entries().empty() || journal.entries().back().number != number) return outcome;
  Entry entry = journal.entries().back();
  ODY_ASSIGN_OR_RETURN(const Record record, journal.Load(entry));
  ODY_RETURN_IF_ERROR(journal.Move(&entry, Stage::kUndoing));
  ODY_ASSIGN_OR_RETURN(const Written written,
                       Restore(reviewed, &journal, entry, record, CutOff::kNo));
  ODY_RETURN_IF_ERROR(journal.Remove(entry));
  outcome.commit = number;
  outcome.done = written.done;
  for (const Refusal& refusal : written.refused) {
    outcome.refused.push_back({refusal.path, refusal.why.message(), ""});
  }
  return outcome;
}

}  // namespace odyssey::cell_review
