#include "ctl/changes/change_question.h"

#include <unistd.h>

#include "ctl/base/line_reader.h"
#include "ctl/view/change_view.h"
#include "ctl/view/diff_view.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::Change;
using Selections = ChangesClient::Selections;

constexpr char kIndent[] = "    ";
// Of a change that is taken as a whole.
constexpr size_t kMaxDiffLines = 60;
constexpr uint64_t kMaxDiffBytes = 1024 * 1024;
constexpr char kQuestion[] =
    "  commit these? c commit, h choose, v view the diff, k keep, d discard, ? help: ";
constexpr char kHelp[] =
    "  c  put all that is not in conflict into the host's directory; each marked change is asked\n"
    "     about by itself\n"
    "  h  decide for each change, and for each hunk of a text file\n"
    "  v  show what changed, as a diff\n"
    "  k  leave them as they are, as does the end of input; changes, commit and discard come back\n"
    "     to them\n"
    "  d  forget them\n";
constexpr char kChoiceHelp[] =
    "  y  take it\n"
    "  n  leave it\n"
    "  a  take this hunk and the others of the file\n"
    "  d  leave this hunk and the others of the file\n"
    "  q  leave it and all that follows; commit what was taken\n";
constexpr char kOutdated[] =
    "  The changes are not what was shown any more; nothing is committed.\n";

bool IsYes(const std::optional<std::string>& line) {
  return line && ParseChoice(*line) == Answer::kYes;
}

std::string FirstLetter(const std::string& line) {
  const size_t at = line.find_first_not_of(" \t");
  return at == std::string::npos ? "" : line.substr(at, 1);
}

std::string FirstLines(const std::vector<const Change*>& changes, const std::string& what,
                       const std::string& name, bool color) {
  std::string out;
  for (size_t i = 0; i < changes.size() && i < kMostShown; ++i) {
    out += "  " + ChangeLine(*changes[i], color) + "\n";
  }
  if (changes.size() <= kMostShown) return out;
  return out + "  and " + std::to_string(changes.size() - kMostShown) + " more" + what + ": " +
         CommandText({"odyssey-ctl", "changes", name}) + "\n";
}

}  // namespace

std::string SummaryText(const ChangeSet& set, const std::string& name, bool color) {
  std::vector<const Change*> plain, marked, conflicts;
  for (const Change& change : set.changes) {
    (!change.conflict().empty() ? conflicts
     : !change.mark().empty()   ? marked
                                : plain)
        .push_back(&change);
  }
  return CountsText(set.end.counts()) + ":\n" + FirstLines(plain, "", name, color) +
         FirstLines(marked, " that are marked", name, color) +
         FirstLines(conflicts, " in conflict", name, color);
}

std::string KeptText(const std::string& name) {
  return "  to see them: " + CommandText({"odyssey-ctl", "changes", name}) +
         "\n  to take them: " + CommandText({"odyssey-ctl", "commit", name}) +
         "\n  to forget them: " + CommandText({"odyssey-ctl", "discard", name});
}

QuestionEnd ChangeQuestion::Fail(const std::string& what, const Status& status) {
  console_.Fail(client_.Explain(what, status));
  return QuestionEnd::kFailed;
}

QuestionEnd ChangeQuestion::Run() {
  for (;;) {
    ChangeSet set;
    const Status status = client_.List({}, &set);
    if (!status.ok()) return Fail("list the changes of", status);
    if (IsEmpty(set.end.counts())) return QuestionEnd::kNothing;
    show_(SummaryText(set, client_.name(), console_.color_out));
    const End end = AskOnce(set);
    if (!end) continue;
    if (*end == QuestionEnd::kKept) show_("kept\n" + KeptText(client_.name()) + "\n");
    return *end;
  }
}

ChangeQuestion::End ChangeQuestion::AskOnce(const ChangeSet& set) {
  for (;;) {
    const std::optional<std::string> line =
        ask_(Paint(kQuestion, Style::kBold, console_.color_out));
    if (!line) return QuestionEnd::kKept;
    const std::string key = FirstLetter(*line);
    if (key == "c" || key == "h") {
      if (!set.end.truncated()) return key == "c" ? CommitAll(set) : Choose(set);
      show_("  There are more changes than were listed: name a PATH to odyssey-ctl commit.\n");
    }
    if (key == "k") return QuestionEnd::kKept;
    if (key == "d") return Discard(set);
    if (key == "v") ShowAll();
    if (key == "?") show_(kHelp);
  }
}

void ChangeQuestion::ShowAll() {
  std::string text;
  bool truncated = false;
  const Status status = client_.Diff({}, kMaxDiffBytes, &text, &truncated);
  if (!status.ok()) Fail("show the changes of", status);
  show_(FormatDiff(text, console_.color_out));
  if (truncated) show_("  (there is more: name files to odyssey-ctl diff)\n");
}

// Marked changes are looked at one by one, before anything is committed.
bool ChangeQuestion::AskMarked(const ChangeSet& set, ChangeChoice* choice) {
  for (size_t i = 0; i < set.changes.size(); ++i) {
    const Change& change = set.changes[i];
    if (change.mark().empty() || !change.conflict().empty()) continue;
    if (choice->HasChangesBelow(i)) continue;
    show_("  " + ChangeLine(change, console_.color_out) + "\n");
    ShowFolded(DiffOf(change), change);
    const std::optional<Answer> answer = AskChoice("take this marked change?", false);
    if (!answer) return false;
    if (*answer == Answer::kQuit) return true;
    if (*answer == Answer::kYes) choice->Take(i);
  }
  return true;
}

ChangeQuestion::End ChangeQuestion::CommitAll(const ChangeSet& set) {
  ChangeChoice choice(set);
  if (!AskMarked(set, &choice)) return QuestionEnd::kKept;
  if (choice.empty()) return Commit({}, set.end.digest());
  for (size_t i = 0; i < set.changes.size(); ++i) {
    const Change& change = set.changes[i];
    if (change.mark().empty() && change.conflict().empty() && !choice.HasChangesBelow(i)) {
      choice.Take(i);
    }
  }
  return CommitChoice(set, choice);
}

ChangeQuestion::End ChangeQuestion::Choose(const ChangeSet& set) {
  ChangeChoice choice(set);
  for (size_t i = 0; i < set.changes.size(); ++i) {
    const Change& change = set.changes[i];
    if (choice.HasChangesBelow(i)) continue;
    show_("  " + ChangeLine(change, console_.color_out) + "\n");
    if (!change.conflict().empty()) continue;
    const std::optional<Answer> answer = AskChange(change, i, &choice);
    if (!answer) return QuestionEnd::kKept;
    if (*answer == Answer::kQuit) break;
  }
  if (choice.empty()) {
    show_("  nothing was taken\n");
    return std::nullopt;
  }
  return CommitChoice(set, choice);
}

void ChangeQuestion::ShowFolded(const std::string& diff, const Change& change) {
  show_(FoldDiff(diff, kMaxDiffLines, kIndent,
                 CommandText({"odyssey-ctl", "diff", client_.name(), change.path()}),
                 console_.color_out));
}

std::optional<Answer> ChangeQuestion::AskChange(const Change& change, size_t index,
                                                ChangeChoice* choice) {
  const std::string diff = DiffOf(change);
  const FileDiff parts = SplitDiff(diff);
  if (change.kind() == supervisor::v1::CHANGE_KIND_MODIFIED && parts.hunks.size() > 1) {
    return AskHunks(parts.hunks, index, choice);
  }
  ShowFolded(diff, change);
  const std::optional<Answer> answer = AskChoice("take it?", false);
  if (answer == Answer::kYes) choice->Take(index);
  return answer;
}

std::optional<Answer> ChangeQuestion::AskHunks(const std::vector<std::string>& hunks, size_t index,
                                               ChangeChoice* choice) {
  std::vector<uint32_t> taken;
  std::optional<Answer> answer;
  for (size_t i = 0; i < hunks.size(); ++i) {
    if (answer != Answer::kAllHunks && answer != Answer::kNoHunk) {
      show_(FormatDiff(hunks[i], console_.color_out));
      answer = AskChoice(
          "(" + std::to_string(i + 1) + "/" + std::to_string(hunks.size()) + ") take this hunk?",
          true);
      if (!answer) return answer;
      if (*answer == Answer::kQuit) break;
    }
    if (*answer == Answer::kYes || *answer == Answer::kAllHunks) {
      taken.push_back(static_cast<uint32_t>(i + 1));
    }
  }
  choice->TakeHunks(index, std::move(taken), hunks.size());
  return answer;
}

// Until there is an answer that means something.
std::optional<Answer> ChangeQuestion::AskChoice(const std::string& what, bool hunks) {
  const std::string question = "  " + what + (hunks ? " [y,n,a,d,q,?] " : " [y,n,q,?] ");
  for (;;) {
    const std::optional<std::string> line = ask_(Paint(question, Style::kBold, console_.color_out));
    if (!line) return std::nullopt;
    const Answer answer = ParseChoice(*line);
    if (answer == Answer::kHelp) show_(kChoiceHelp);
    const bool of_hunks = answer == Answer::kAllHunks || answer == Answer::kNoHunk;
    const bool plain = answer == Answer::kYes || answer == Answer::kNo || answer == Answer::kQuit;
    if (plain || (hunks && of_hunks)) return answer;
  }
}

// A text that cannot be had whole is not cut into hunks.
std::string ChangeQuestion::DiffOf(const Change& change) {
  Selections selections(1);
  selections[0].set_path(change.path());
  std::string text;
  bool truncated = false;
  const Status status = client_.Diff(selections, kMaxDiffBytes, &text, &truncated);
  if (!status.ok()) Fail("show the changes of", status);
  if (truncated) show_(std::string(kIndent) + "(too long to be shown)\n");
  return status.ok() && !truncated ? text : "";
}

// The digest of the whole list ties the choice to what was shown: it is taken after the choice's
// own, so that nothing of the choice is younger than what it stands for.
ChangeQuestion::End ChangeQuestion::CommitChoice(const ChangeSet& set, const ChangeChoice& choice) {
  const Selections selections = choice.ToSelections();
  ChangeSet chosen;
  ChangeSet all;
  Status status = client_.List(selections, &chosen);
  if (status.ok()) status = client_.List({}, &all);
  if (!status.ok()) return Fail("list the changes of", status);
  if (all.end.digest() == set.end.digest()) return Commit(selections, chosen.end.digest());
  show_(kOutdated);
  return std::nullopt;
}

ChangeQuestion::End ChangeQuestion::Commit(const Selections& selections,
                                           const std::string& digest) {
  supervisor::v1::CommitChangesResponse response;
  const Status status = client_.Commit(selections, digest, &response);
  if (status.code() == Code::kAborted) {
    show_(kOutdated);
    return std::nullopt;
  }
  if (!status.ok()) return Fail("commit the changes of", status);
  for (const auto& refused : response.refused()) {
    // Marked ones were asked about.
    if (!refused.marked()) console_.Warn(RefusalLine(refused, client_.name()));
  }
  show_(response.commit() == 0
            ? std::string("nothing was committed\n")
            : "committed " + std::to_string(response.committed()) + "; " +
                  CommandText({"odyssey-ctl", "undo", client_.name()}) + " takes it back\n");
  ChangeSet left;
  if (client_.List({}, &left).ok() && !IsEmpty(left.end.counts())) {
    show_("left: " + CountsText(left.end.counts()) + "\n" + KeptText(client_.name()) + "\n");
  }
  return QuestionEnd::kCommitted;
}

ChangeQuestion::End ChangeQuestion::Discard(const ChangeSet& set) {
  const std::string question = "  forget " + CountsText(set.end.counts()) + " for good? y, n: ";
  if (!IsYes(ask_(Paint(question, Style::kBold, console_.color_out)))) return std::nullopt;
  supervisor::v1::DiscardChangesResponse response;
  const Status status = client_.Discard({}, &response);
  if (!status.ok()) return Fail("discard the changes of", status);
  show_("discarded " + std::to_string(response.discarded()) + "\n");
  for (const auto& refused : response.refused()) {
    console_.Warn(RefusalLine(refused, client_.name()));
  }
  return response.refused().empty() ? QuestionEnd::kDiscarded : QuestionEnd::kKept;
}

QuestionEnd DecideChanges(const Console& console, const ChangesClient& client) {
  if (console.in_is_terminal && console.out_is_terminal && !console.json) {
    LineReader reader(STDIN_FILENO);
    const auto show = [&](const std::string& text) { console.Print(text); };
    const auto ask = [&](const std::string& text) {
      console.Print(text);
      std::optional<std::string> line = reader.Read();
      if (!line) console.Print("\n");
      return line;
    };
    return ChangeQuestion(console, client, ask, show).Run();
  }
  ChangeSet set;
  const Status status = client.List({}, &set);
  if (!status.ok()) {
    console.Fail(client.Explain("list the changes of", status));
    return QuestionEnd::kFailed;
  }
  if (IsEmpty(set.end.counts())) return QuestionEnd::kNothing;
  console.Warn("odyssey-ctl: kept: " + CountsText(set.end.counts()) + "\n" +
               KeptText(client.name()));
  return QuestionEnd::kKept;
}

}  // namespace odyssey::ctl
