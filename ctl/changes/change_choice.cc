#include "ctl/changes/change_choice.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace odyssey::ctl {
namespace {

std::string_view Trim(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r\n") - first + 1);
}

bool IsBelow(const std::string& path, const std::string& directory) {
  return path.size() > directory.size() + 1 && path[directory.size()] == '/' &&
         path.compare(0, directory.size(), directory) == 0;
}

// What is below a directory follows it at once.
bool ComesBefore(const std::string& a, const std::string& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return x != y && (x == '/' || (y != '/' && x < y));
  });
}

}  // namespace

Answer ParseChoice(std::string_view line) {
  const std::string_view word = Trim(line);
  if (word == "y" || word == "yes") return Answer::kYes;
  if (word == "n" || word == "no") return Answer::kNo;
  if (word == "a" || word == "all") return Answer::kAllHunks;
  if (word == "d") return Answer::kNoHunk;
  if (word == "q" || word == "quit") return Answer::kQuit;
  if (word == "?" || word == "help") return Answer::kHelp;
  return Answer::kUnknown;
}

ChangeChoice::ChangeChoice(const ChangeSet& list)
    : list_(list),
      chosen_(list.changes.size()),
      order_(list.changes.size()),
      below_(list.changes.size()) {
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
    return ComesBefore(list_.changes[a].path(), list_.changes[b].path());
  });
  for (size_t at = 0; at < order_.size(); ++at) {
    const supervisor::v1::Change& change = list_.changes[order_[at]];
    if (!IsDirectory(change)) continue;
    size_t end = at + 1;
    while (end < order_.size() && IsBelow(list_.changes[order_[end]].path(), change.path())) ++end;
    below_[order_[at]] = {at + 1, end - at - 1};
  }
}

void ChangeChoice::TakeHunks(size_t index, std::vector<uint32_t> hunks, size_t of) {
  if (hunks.empty()) return;
  chosen_[index].taken = true;
  if (hunks.size() < of) chosen_[index].hunks = std::move(hunks);
}

bool ChangeChoice::empty() const {
  return std::none_of(chosen_.begin(), chosen_.end(), [](const Chosen& one) { return one.taken; });
}

bool ChangeChoice::IsTaken(size_t index) const {
  if (chosen_[index].taken) return true;
  const Range& range = below_[index];
  for (size_t at = range.begin; at < range.begin + range.size; ++at) {
    const size_t i = order_[at];
    if (HasChangesBelow(i)) continue;
    if (!chosen_[i].taken || !chosen_[i].hunks.empty()) return false;
  }
  return range.size > 0;
}

ChangesClient::Selections ChangeChoice::ToSelections() const {
  ChangesClient::Selections out;
  for (size_t i = 0; i < list_.changes.size(); ++i) {
    if (!IsTaken(i)) continue;
    supervisor::v1::ChangeSelection& selection = out.emplace_back();
    selection.set_path(list_.changes[i].path());
    selection.set_marked(!list_.changes[i].mark().empty());
    selection.mutable_hunks()->Assign(chosen_[i].hunks.begin(), chosen_[i].hunks.end());
  }
  return out;
}

}  // namespace odyssey::ctl
