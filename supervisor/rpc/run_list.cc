#include "supervisor/rpc/run_list.h"

#include <algorithm>
#include <iterator>

#include "common/base/refusal.h"
#include "supervisor/wire/cell_wire.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::supervisor {
namespace {

// Removing is dearer than keeping, and starts the file worker: so many at a time.
constexpr uint64_t kTrimBatch = 64;
constexpr size_t kMaxQuoted = 64;

}  // namespace

Result<uint64_t> ParseRunId(std::string_view field, const std::string& run_id) {
  const uint64_t run = cell::RunNumber(run_id);
  if (run != 0) return run;
  return AboutField(
      std::string(field),
      InvalidArgument(std::string(field) + " \"" + run_id.substr(0, kMaxQuoted) +
                      "\": give \"run_\" and 16 hex digits, as a command or InjectFiles said"));
}

uint64_t RunList::Begin(uint64_t now) {
  last_ = std::max(last_ + 1, now);
  uses_[last_] = 1;
  ++on_disk_;
  return last_;
}

Result<uint64_t> RunList::Use(std::string_view field, const std::string& run_id) {
  ODY_ASSIGN_OR_RETURN(const uint64_t run, ParseRunId(field, run_id));
  const auto found = uses_.find(run);
  if (found == uses_.end()) {
    return AboutField(std::string(field), NotFound(std::string(field) + " \"" + run_id +
                                                   "\": no such run of this cell"));
  }
  ++found->second;
  return run;
}

void RunList::Release(uint64_t run) {
  const auto found = uses_.find(run);
  if (found != uses_.end() && found->second > 0) --found->second;
}

bool RunList::StartTrim() {
  if (trimming_ || on_disk_ < tool::kKeptRuns + kTrimBatch) return false;
  trimming_ = true;
  return true;
}

std::vector<std::string> RunList::InUse() const {
  std::vector<std::string> names;
  for (const auto& [run, uses] : uses_) {
    if (uses > 0) names.push_back(cell::RunName(run));
  }
  return names;
}

void RunList::Trimmed(uint32_t left) {
  trimming_ = false;
  on_disk_ = left;
  for (auto it = uses_.begin(); it != uses_.end() && uses_.size() > tool::kKeptRuns;) {
    it = it->second > 0 ? std::next(it) : uses_.erase(it);
  }
}

}  // namespace odyssey::supervisor
