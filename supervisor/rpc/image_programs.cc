#include "supervisor/rpc/image_programs.h"

#include <algorithm>

namespace odyssey::supervisor {
namespace {

// Of policies in use at the same time, as of executables::Finder.
constexpr size_t kMaxAnswers = 64;

}  // namespace

Result<compile::FoundExecutables> ImagePrograms::Find(const std::string& digest,
                                                      const std::vector<std::string>& layers,
                                                      std::vector<std::string> names) {
  if (names.empty()) return compile::FoundExecutables();
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const Question question = {digest, names};
  {
    const std::lock_guard lock(mutex_);
    const auto known = answers_.find(question);
    if (known != answers_.end()) return known->second;
  }
  ODY_ASSIGN_OR_RETURN(compile::FoundExecutables found, cells_->FindPrograms(layers, names));
  const std::lock_guard lock(mutex_);
  if (answers_.size() >= kMaxAnswers) answers_.clear();
  return answers_.insert_or_assign(question, std::move(found)).first->second;
}

}  // namespace odyssey::supervisor
