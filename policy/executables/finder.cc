#include "policy/executables/finder.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/base/codec.h"
#include "common/base/sha256.h"
#include "policy/executables/closure.h"
#include "policy/executables/companions.h"
#include "policy/executables/library_search.h"

namespace odyssey::executables {
namespace {

// Of policies in use at the same time.
constexpr size_t kMaxAnswers = 64;
// Of the coarsest file system: within it two changes can leave the same time behind.
constexpr int64_t kTimeStepNs = 2'000'000'000;

int64_t NowNs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// A mount shows the file that was there; when another takes its place the cell must be made anew.
// A directory shows what is in it, whatever that is.
std::string IdentityOf(const std::vector<compile::Executable>& files, const HostTree& tree) {
  Writer out;
  for (const compile::Executable& file : files) {
    const FileInfo info = tree.Look(file.path).value_or(FileInfo{});
    out.String(file.path);
    out.U64(info.device);
    out.U64(info.inode);
    if (info.directory) continue;
    out.U64(info.size);
    out.U64(static_cast<uint64_t>(info.modified_ns));
  }
  return Sha256Hex(out.bytes());
}

// In a directory that is named may be anything; those of companions are known.
std::vector<std::string> CompilersOf(const std::vector<compile::Executable>& files,
                                     const HostTree& tree) {
  std::vector<std::string> out;
  for (const compile::Executable& file : files) {
    if (!file.run) continue;
    const bool is_named = file.why.rfind("named ", 0) == 0;
    const bool is_any = is_named && tree.Look(file.path).value_or(FileInfo{}).directory;
    if (is_any || CompilesWhileItRuns(file.path)) out.push_back(file.path);
  }
  return out;
}

}  // namespace

Result<Finder::Answer> Finder::Look(const std::vector<std::string>& names) const {
  const int64_t begun_ns = NowNs();
  LibrarySearch libraries(&tree_);
  Closure closure(&tree_, &libraries);
  for (const std::string& name : names) ODY_RETURN_IF_ERROR(closure.Add(name));

  Answer answer;
  answer.found.files = closure.Files();
  answer.found.notes = closure.Notes();
  answer.found.compilers = CompilersOf(answer.found.files, tree_);
  answer.found.identity = IdentityOf(answer.found.files, tree_);
  answer.resolved = closure.resolved();
  for (const compile::Executable& file : answer.found.files) answer.seen[file.path] = {};
  for (const std::string& path : libraries.Consulted()) answer.seen[path] = {};
  for (const std::string& path : closure.watched()) answer.seen[path] = {};
  answer.settled = true;
  for (auto& [path, info] : answer.seen) {
    info = tree_.Look(path);
    if (info && info->modified_ns > begun_ns - kTimeStepNs) answer.settled = false;
  }
  return answer;
}

bool Finder::Holds(const Answer& answer) const {
  if (!answer.settled) return false;
  const auto same = [this](const auto& seen) { return tree_.Look(seen.first) == seen.second; };
  const auto leads = [this](const auto& resolved) {
    const Result<std::string> canonical = tree_.Canonical(resolved.first);
    return (canonical.ok() ? *canonical : "") == resolved.second;
  };
  return std::all_of(answer.seen.begin(), answer.seen.end(), same) &&
         std::all_of(answer.resolved.begin(), answer.resolved.end(), leads);
}

Result<compile::FoundExecutables> Finder::Find(const std::vector<std::string>& names) {
  if (names.empty()) return compile::FoundExecutables{};
  std::vector<std::string> key = names;
  std::sort(key.begin(), key.end());
  key.erase(std::unique(key.begin(), key.end()), key.end());

  const std::lock_guard lock(mutex_);
  const auto known = answers_.find(key);
  if (known != answers_.end() && Holds(known->second)) return known->second.found;
  ODY_ASSIGN_OR_RETURN(Answer answer, Look(key));
  if (answers_.size() >= kMaxAnswers) answers_.clear();
  return answers_.insert_or_assign(std::move(key), std::move(answer)).first->second.found;
}

}  // namespace odyssey::executables
