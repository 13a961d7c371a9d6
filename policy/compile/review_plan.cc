#include "policy/compile/review_plan.h"

#include <algorithm>

namespace odyssey::compile {
namespace {

using plan::Access;
using plan::Entry;
using plan::EntryKind;

// Names and hashes of the changes, and copies of files one after another.
constexpr uint64_t kMemoryBytes = uint64_t{512} << 20;
constexpr uint32_t kPids = 8;
constexpr uint32_t kCpuMillis = 2000;
// A review cell has no tmpfs; a plan has to say a size all the same.
constexpr uint64_t kTmpBytes = uint64_t{1} << 20;

Access WritableIf(bool writable) { return writable ? Access::kReadWrite : Access::kReadOnly; }

Entry OwnTree(const std::string& target, const std::string& source, Access access) {
  return {.kind = EntryKind::kCellTree, .target = target, .source = source, .access = access};
}

Entry HostDirectory(const std::string& target, Entry entry, Access access) {
  entry.target = target;
  entry.access = access;
  entry.executable = false;
  entry.changes.clear();
  return entry;
}

std::string PlaceOf(size_t number) {
  return plan::kReviewPath + std::string("/") + std::to_string(number);
}

plan::Plan Empty(const plan::Plan& cell) {
  plan::Plan out;
  out.program = plan::Program::kReview;
  out.cell_tree = cell.cell_tree;
  out.ids = cell.ids;
  out.user = cell.user;
  out.group = cell.group;
  out.memory_bytes = kMemoryBytes;
  out.cpu_millis = kCpuMillis;
  out.pids = kPids;
  out.tmp_bytes = kTmpBytes;
  out.disk_bytes = cell.disk_bytes;
  return out;
}

}  // namespace

std::vector<ReviewedDirectory> ReviewedDirectories(const plan::Plan& cell) {
  std::vector<ReviewedDirectory> directories;
  for (const Entry& entry : cell.entries) {
    if (!entry.changes.empty()) directories.push_back({entry.source, entry.target});
  }
  return directories;
}

plan::Plan ReviewPlan(const plan::Plan& cell, ReviewWrites writes) {
  plan::Plan out = Empty(cell);
  size_t number = 0;
  for (const Entry& entry : cell.entries) {
    if (entry.changes.empty()) continue;
    const std::string at = PlaceOf(number++);
    out.entries.push_back(
        HostDirectory(at + "/host", entry, WritableIf(writes == ReviewWrites::kHost)));
    out.entries.push_back(OwnTree(at + "/upper", entry.changes + "/upper",
                                  WritableIf(writes == ReviewWrites::kUpper)));
    out.entries.push_back(OwnTree(at + "/store", entry.changes + "/store", Access::kReadWrite));
  }
  return out;
}

Result<plan::Plan> ComparePlan(const plan::Plan& cell, const plan::Plan& other) {
  if (cell.disk_bytes != 0 || other.disk_bytes != 0) {
    return FailedPrecondition("against: a cell with limits.disk_bytes cannot be compared");
  }
  plan::Plan out = Empty(cell);
  out.from_tree = other.cell_tree;
  size_t number = 0;
  for (const Entry& entry : cell.entries) {
    if (entry.changes.empty()) continue;
    const auto same = std::find_if(
        other.entries.begin(), other.entries.end(),
        [&](const Entry& one) { return !one.changes.empty() && one.source == entry.source; });
    if (same == other.entries.end()) {
      return FailedPrecondition("against: has no changes of " + entry.source);
    }
    const std::string at = PlaceOf(number++);
    out.entries.push_back(HostDirectory(at + "/host", entry, Access::kReadOnly));
    // What is read-only is from_tree's.
    out.entries.push_back(OwnTree(at + "/against", same->changes + "/upper", Access::kReadOnly));
    out.entries.push_back(OwnTree(at + "/upper", entry.changes + "/upper", Access::kReadWrite));
  }
  return out;
}

plan::Plan RootReviewPlan(const std::string& scratch, const std::string& cell_tree,
                          const std::vector<std::string>& layers) {
  plan::Plan out = Empty({.cell_tree = scratch, .ids = plan::Ids::kRange, .user = 0, .group = 0});
  out.from_tree = cell_tree;
  out.layers = layers;
  out.build = true;
  const std::string at = PlaceOf(0);
  // What is read-only is from_tree's.
  out.entries.push_back(
      OwnTree(at + "/upper", plan::kRootChanges + std::string("/upper"), Access::kReadOnly));
  out.entries.push_back(OwnTree(at + "/store", "store", Access::kReadWrite));
  return out;
}

plan::Plan ForkPlan(const plan::Plan& to, const std::string& from_tree) {
  plan::Plan out = Empty(to);
  out.from_tree = from_tree;
  const std::string at = plan::kReviewPath;
  for (const std::string directory : {"app", "data", "changes"}) {
    out.entries.push_back(OwnTree(at + "/from/" + directory, directory, Access::kReadOnly));
    out.entries.push_back(OwnTree(at + "/to/" + directory, directory, Access::kReadWrite));
  }
  return out;
}

}  // namespace odyssey::compile
