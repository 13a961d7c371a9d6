#ifndef ODYSSEY_CTL_CHANGES_CHANGE_QUESTION_H_
#define ODYSSEY_CTL_CHANGES_CHANGE_QUESTION_H_

// Asks a person what is to become of the changes of a cell, and does it. What is committed is what
// was shown: every commit names the digest of a list that was compared with it.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ctl/base/console.h"
#include "ctl/changes/change_choice.h"
#include "ctl/changes/changes_client.h"

namespace odyssey::ctl {

enum class QuestionEnd {
  kNothing,    // there are no changes
  kCommitted,  // some of them
  kKept,
  kDiscarded,  // all of them
  kFailed,     // which was reported; nothing is known of the changes
};

class ChangeQuestion final {
 public:
  // A line typed after the text was shown; nothing: the input has ended.
  using Ask = std::function<std::optional<std::string>(const std::string& text)>;
  using Show = std::function<void(const std::string& text)>;

  // All outlive it. Failures go to stderr.
  ChangeQuestion(const Console& console, const ChangesClient& client, Ask ask, Show show)
      : console_(console), client_(client), ask_(std::move(ask)), show_(std::move(show)) {}

  QuestionEnd Run();

 private:
  // Nothing: ask again, about what is there then.
  using End = std::optional<QuestionEnd>;
  End AskOnce(const ChangeSet& set);
  End CommitAll(const ChangeSet& set);
  End Choose(const ChangeSet& set);
  End CommitChoice(const ChangeSet& set, const ChangeChoice& choice);
  End Commit(const ChangesClient::Selections& selections, const std::string& digest);
  End Discard(const ChangeSet& set);
  QuestionEnd Fail(const std::string& what, const Status& status);
  // False: the input has ended.
  bool AskMarked(const ChangeSet& set, ChangeChoice* choice);
  // kQuit ends the asking; nothing: the input has ended.
  std::optional<Answer> AskChange(const supervisor::v1::Change& change, size_t index,
                                  ChangeChoice* choice);
  std::optional<Answer> AskHunks(const std::vector<std::string>& hunks, size_t index,
                                 ChangeChoice* choice);
  std::optional<Answer> AskChoice(const std::string& what, bool hunks);
  std::string DiffOf(const supervisor::v1::Change& change);
  void ShowFolded(const std::string& diff, const supervisor::v1::Change& change);
  void ShowAll();

  const Console& console_;
  const ChangesClient& client_;
  const Ask ask_;
  const Show show_;
};

// The counts and the first changes; what is marked or in conflict is never left out for what is
// not. Pure.
inline constexpr size_t kMostShown = 20;
std::string SummaryText(const ChangeSet& set, const std::string& name, bool color);

// At a terminal asks. Elsewhere keeps all, and says on stderr how to go on. Nothing is said where
// there are no changes.
QuestionEnd DecideChanges(const Console& console, const ChangesClient& client);

// How to go on with what is kept under this name, lines of advice.
std::string KeptText(const std::string& name);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CHANGES_CHANGE_QUESTION_H_
