#ifndef ODYSSEY_CTL_CHANGES_CHANGE_CHOICE_H_
#define ODYSSEY_CTL_CHANGES_CHANGE_CHOICE_H_

// What a person chose of a list of changes, and what it means as selections. Pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/changes/changes_client.h"
#include "ctl/view/change_view.h"

namespace odyssey::ctl {

enum class Answer { kNo, kYes, kAllHunks, kNoHunk, kQuit, kHelp, kUnknown };

// A line that answers "commit this?".
Answer ParseChoice(std::string_view line);

class ChangeChoice final {
 public:
  // `list` outlives it.
  explicit ChangeChoice(const ChangeSet& list);

  // The list has other changes below this one, a directory: they stand for it.
  bool HasChangesBelow(size_t index) const { return below_[index].size > 0; }

  void Take(size_t index) { chosen_[index].taken = true; }
  // Numbers from 1; all of them are the whole change.
  void TakeHunks(size_t index, std::vector<uint32_t> hunks, size_t of);

  bool empty() const;
  // Names each change that was taken, marked ones as such. A directory is taken with the last of
  // what is below it.
  ChangesClient::Selections ToSelections() const;

 private:
  struct Chosen {
    bool taken = false;
    std::vector<uint32_t> hunks;  // empty: all
  };
  struct Range {
    size_t begin = 0;  // in order_
    size_t size = 0;
  };
  bool IsTaken(size_t index) const;

  const ChangeSet& list_;
  std::vector<Chosen> chosen_;
  std::vector<size_t> order_;  // indices, each directory before what is below it
  std::vector<Range> below_;   // what is below a directory
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CHANGES_CHANGE_CHOICE_H_
