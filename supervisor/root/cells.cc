#include "supervisor/root/cells.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "common/os/message_socket.h"
#include "common/os/user_namespace.h"
#include "supervisor/root/cell_tree.h"

namespace odyssey::root {
namespace {

// A control group per uid in use.
std::string GroupOf(uint32_t slot) { return "cell-" + std::to_string(slot); }

// Pid 1 of the cell, after whose death the kernel ends every other process of it, and then
// bubblewrap itself: where neither a control group nor a uid shows what is left. Bubblewrap, before
// it has made that.
pid_t LastToEnd(pid_t bwrap) {
  const std::string pid = std::to_string(bwrap);
  const uint64_t init = ReadControlNumber("/proc/" + pid + "/task/" + pid + "/children");
  return init == 0 ? bwrap : static_cast<pid_t>(init);
}

// The first line of what a failed launch left in its pipe, made safe to show. "CODE message" from
// the launcher; anything else is bubblewrap's or cell-init's.
Status FirstLine(int messages) {
  char buffer[4096];
  const ssize_t n = read(messages, buffer, sizeof(buffer));
  if (n <= 0) return Unavailable("");
  std::string line(buffer, static_cast<size_t>(n));
  line = line.substr(0, line.find('\n'));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  int code = 0, error = 0, item = -1, text = 0;
  if (sscanf(line.c_str(), "%d %d %d %n", &code, &error, &item, &text) < 3 || code < 1 ||
      code > static_cast<int>(Code::kUnauthenticated)) {
    return Unavailable(line);
  }
  return Status(static_cast<Code>(code), line.substr(static_cast<size_t>(text)))
      .With({.error = error, .item = item});
}

}  // namespace

CellTable::CellTable(CgroupTree* cgroups, StagingPaths paths, uid_t first_uid)
    : cgroups_(cgroups),
      paths_(std::move(paths)),
      first_uid_(first_uid),
      slots_(kMaxCells + 1, false) {
  slots_[0] = true;
}

Result<uint32_t> CellTable::FreeSlot() const {
  const auto it = std::find(slots_.begin(), slots_.end(), false);
  if (it == slots_.end())
    return ResourceExhausted(std::to_string(kMaxCells) + " cells are live, the most there can be");
  return static_cast<uint32_t>(it - slots_.begin());
}

Result<CellTable::Spare> CellTable::MakeSpare() {
  Spare spare;
  if (!paths_.rootless && !paths_.unmapped_map) {
    ODY_ASSIGN_OR_RETURN(paths_.unmapped_map, MakeMappingNamespace(kUnmappedId, kUnmappedId, 0, 0));
  }
  ODY_ASSIGN_OR_RETURN(spare.slot, FreeSlot());
  const std::string group = GroupOf(spare.slot);
  cgroups_->Remove(group);  // of a launcher that failed
  ODY_RETURN_IF_ERROR(cgroups_->Create(group));
  ODY_ASSIGN_OR_RETURN(
      spare.launcher,
      Launcher::Prepare(
          {.cgroups = cgroups_, .group = group, .cell_uid = UidOf(spare.slot), .paths = &paths_}));
  slots_[spare.slot] = true;
  return spare;
}

void CellTable::PrepareNext() {
  if (spare_ || spare_died_) return;
  auto spare = MakeSpare();
  if (spare.ok()) spare_ = std::move(*spare);
}

void CellTable::FreeSlotOf(uint32_t slot) {
  cgroups_->Remove(GroupOf(slot));
  slots_[slot] = false;
}

void CellTable::EndSpare() {
  if (!spare_) return;
  kill(spare_->launcher.pid(), SIGKILL);
  waitpid(spare_->launcher.pid(), nullptr, 0);
  FreeSlotOf(spare_->slot);
  spare_.reset();
}

Result<CellTable::Started> CellTable::Start(const plan::Plan& plan) {
  if (Has(plan.cell_id)) return AlreadyExists("cell_id " + plan.cell_id + ": is live");
  ODY_ASSIGN_OR_RETURN(auto ends, MessageSocketPair());
  spare_died_ = false;
  if (!spare_) {
    ODY_ASSIGN_OR_RETURN(spare_, MakeSpare());
  }
  ODY_ASSIGN_OR_RETURN(const CellIds ids, IdsOf(plan, UidOf(spare_->slot), paths_));
  Status launched =
      cgroups_->SetLimits(GroupOf(spare_->slot), {plan.memory_bytes, plan.cpu_millis, plan.pids});
  if (launched.ok()) launched = spare_->launcher.Launch(plan, ends.second.get());
  if (!launched.ok()) {
    const Status said = FirstLine(spare_->launcher.TakeMessages().get());
    EndSpare();
    return said.message().empty() ? launched : said;
  }
  Cell& cell = cells_[plan.cell_id];
  cell.pid = spare_->launcher.pid();
  cell.slot = spare_->slot;
  cell.uid = ids.uid;
  cell.messages = spare_->launcher.TakeMessages();
  cell.tree = plan.cell_tree;
  spare_.reset();
  return Started{cell.uid, std::move(ends.first), cgroups_->OpenFreezer(GroupOf(cell.slot))};
}

wire::CellUsage CellTable::Usage(const std::string& cell_id) const {
  return cgroups_->Usage(GroupOf(cells_.at(cell_id).slot));
}

bool CellTable::End(const std::string& cell_id, bool purge) {
  const auto it = cells_.find(cell_id);
  if (it == cells_.end()) return false;
  Cell& cell = it->second;
  cell.ending = true;
  cell.purge = cell.purge || purge;
  cgroups_->Kill(GroupOf(cell.slot));
  // bubblewrap's death kills pid 1, and that every process of the cell: without cgroup.kill.
  if (cell.pid > 0) kill(paths_.rootless ? LastToEnd(cell.pid) : cell.pid, SIGKILL);
  return true;
}

void CellTable::EndAll() {
  EndSpare();
  for (auto& [cell_id, cell] : cells_) End(cell_id, false);
}

void CellTable::ChildExited(pid_t pid, int wait_status) {
  if (spare_ && spare_->launcher.pid() == pid) {  // its next use makes another, and says what fails
    FreeSlotOf(spare_->slot);
    spare_.reset();
    spare_died_ = true;
  }
  for (auto& [cell_id, cell] : cells_) {
    if (cell.removal == pid) {
      cell.removal = -1;
      cell.purge = false;
      if (wait_status != 0) cell.reason = Internal("the cell's directories could not be removed");
    }
    if (cell.pid != pid) continue;
    cell.pid = -1;
    cell.reason = FirstLine(cell.messages.get());
    if (!cell.ending && Usage(cell_id).oom_kills != 0) cell.reason = {Code::kAborted, ""};
    if (!cell.ending) End(cell_id, false);  // it ended by itself: what is left of it goes too
  }
}

bool CellTable::Finished(Cell* cell) {
  if (!cell->ending || cell->pid > 0 || cell->removal > 0) return false;
  // A process that has left its group on its way out still has the uid, which the next cell may
  // get.
  if (!paths_.rootless && getpriority(PRIO_USER, cell->uid) != -1) return false;
  const std::string group = GroupOf(cell->slot);
  cgroups_->Kill(group);  // again, for what was forked while the first one ran on v1
  if (!cgroups_->Remove(group)) return false;
  if (!cell->purge || cell->tree.empty()) return true;
  const auto removal = StartRemovingCellTree(paths_.cells_directory, cell->tree);
  if (removal.ok()) cell->removal = *removal;
  if (!removal.ok()) cell->reason = removal.status();
  return !removal.ok();
}

std::vector<wire::Gone> CellTable::Advance() {
  std::vector<wire::Gone> gone;
  for (auto it = cells_.begin(), next = it; it != cells_.end(); it = next) {
    ++next;
    if (!Finished(&it->second)) continue;
    slots_[it->second.slot] = false;
    gone.push_back({it->first, it->second.reason});
    cells_.erase(it);
  }
  return gone;
}

bool CellTable::dying() const {
  return std::any_of(cells_.begin(), cells_.end(),
                     [](const auto& entry) { return entry.second.ending; });
}

}  // namespace odyssey::root
