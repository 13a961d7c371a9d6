#include "ctl/change_prompt.h"

#include <iostream>
#include <map>
#include <optional>
#include <string>

#include "ctl/change_view.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::Change;
using supervisor::v1::ChangeSelection;
using Selections = ChangesClient::Selections;

constexpr size_t kMostShown = 20;
constexpr uint64_t kMaxDiff = 1024 * 1024;
constexpr char kQuestion[] =
    "  commit these? c commit, h choose, v view the diff, k keep, d discard, ? help: ";
constexpr char kHelp[] =
    "  c  put all that is neither marked nor in conflict into the host's directory\n"
    "  h  decide for each file, and for each hunk of a text file\n"
    "  v  show what changed, as a diff\n"
    "  k  leave them as they are; changes, commit and discard come back to them\n"
    "  d  forget them\n";
constexpr char kChoice[] = "  take it? y yes, n no, p by parts, q no more: ";

std::string_view Trimmed(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r\n") - first + 1);
}

// The next line of the terminal; nothing at its end.
std::optional<std::string> AskLine(const Console& console, const std::string& question) {
  console.Print(Paint(question, Style::kBold, console.color_out));
  std::cout.flush();
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return std::string(Trimmed(line));
}

ChangeSelection Select(const Change& change, bool marked) {
  ChangeSelection selection;
  selection.set_path(change.path());
  selection.set_marked(marked);
  return selection;
}

// The hunks of one file's diff, each with its lines.
std::vector<std::string> SplitHunks(const std::string& diff) {
  std::vector<std::string> hunks;
  for (size_t begin = 0; begin < diff.size();) {
    size_t end = diff.find('\n', begin);
    end = end == std::string::npos ? diff.size() : end + 1;
    const std::string line = diff.substr(begin, end - begin);
    if (line.rfind("@@ ", 0) == 0) hunks.emplace_back();
    if (!hunks.empty()) hunks.back() += line;
    begin = end;
  }
  return hunks;
}

class Prompt final {
 public:
  Prompt(const Console& console, const ChangesClient& client, const ChangeSet& set)
      : console_(console), client_(client), set_(set) {}

  bool Run() {
    Show();
    for (;;) {
      const auto line = AskLine(console_, kQuestion);
      if (!line) return Keep();
      if (*line == "?") console_.Print(kHelp);
      if (*line == "v") View({});
      const auto decision = ParseDecision(*line);
      if (!decision) continue;
      switch (*decision) {
        case Decision::kCommit:
          return Commit({}, set_.end.digest());
        case Decision::kChoose:
          return Choose();
        case Decision::kKeep:
          return Keep();
        case Decision::kDiscard:
          return Discard();
      }
    }
  }

  bool Keep() const {
    console_.Warn("odyssey-ctl: kept: " + CountsText(set_.end.counts()) +
                  "\n  to see them: odyssey-ctl changes " + client_.name() +
                  "\n  to take them: odyssey-ctl commit " + client_.name() +
                  "\n  to forget them: odyssey-ctl discard " + client_.name());
    return true;
  }

 private:
  void Show() const {
    console_.PrintLine(CountsText(set_.end.counts()) + ":");
    for (size_t i = 0; i < set_.changes.size() && i < kMostShown; ++i) {
      console_.PrintLine("  " + ChangeLine(set_.changes[i], console_.color_out));
    }
    if (set_.changes.size() > kMostShown) {
      console_.PrintLine("  and " + std::to_string(set_.changes.size() - kMostShown) +
                         " more: odyssey-ctl changes " + client_.name() + " lists all");
    }
  }

  void View(const Selections& selections) const {
    std::string text;
    bool truncated = false;
    const grpc::Status status = client_.Diff(selections, kMaxDiff, &text, &truncated);
    if (!status.ok()) console_.Fail(client_.Explain("show the changes of", status));
    console_.Print(DiffText(text, console_.color_out));
    if (truncated) console_.PrintLine("  (there is more: name files to odyssey-ctl diff)");
  }

  bool Commit(const Selections& selections, const std::string& digest) const {
    supervisor::v1::CommitChangesResponse response;
    const grpc::Status status = client_.Commit(selections, digest, &response);
    if (!status.ok()) {
      console_.Fail(client_.Explain("commit the changes of", status));
      return false;
    }
    for (const auto& refused : response.refused()) {
      console_.Warn(RefusalLine(refused, client_.name()));
    }
    console_.PrintLine("committed " + std::to_string(response.committed()) + "; odyssey-ctl undo " +
                       client_.name() + " takes it back");
    return true;
  }

  bool Discard() const {
    supervisor::v1::DiscardChangesResponse response;
    const grpc::Status status = client_.Discard({}, &response);
    if (!status.ok()) {
      console_.Fail(client_.Explain("discard the changes of", status));
      return false;
    }
    console_.PrintLine("discarded " + std::to_string(response.discarded()));
    return true;
  }

  // One change after another.
  bool Choose() const {
    Selections chosen;
    for (const Change& change : set_.changes) {
      console_.PrintLine("  " + ChangeLine(change, console_.color_out));
      if (!change.conflict().empty()) continue;
      const auto line = AskLine(console_, kChoice);
      if (!line || *line == "q") break;
      if (*line == "y") chosen.push_back(Select(change, !change.mark().empty()));
      if (*line == "p") ChooseHunks(change, &chosen);
    }
    if (chosen.empty()) return Keep();
    return CommitChosen(chosen);
  }

  void ChooseHunks(const Change& change, Selections* chosen) const {
    std::string text;
    bool truncated = false;
    const grpc::Status status = client_.Diff({Select(change, false)}, kMaxDiff, &text, &truncated);
    if (!status.ok()) {
      console_.Fail(client_.Explain("show the changes of", status));
      return;
    }
    ChangeSelection selection = Select(change, !change.mark().empty());
    uint32_t number = 0;
    for (const std::string& hunk : SplitHunks(text)) {
      ++number;
      console_.Print(DiffText(hunk, console_.color_out));
      const auto line = AskLine(console_, "  take this hunk? y yes, n no: ");
      if (!line) break;
      if (*line == "y") selection.add_hunks(number);
    }
    if (selection.hunks_size() != 0) chosen->push_back(std::move(selection));
  }

  // What is committed is what was shown, so what was chosen is listed again and compared.
  bool CommitChosen(const Selections& chosen) const {
    ChangeSet now;
    const grpc::Status status = client_.List(chosen, &now);
    if (!status.ok()) {
      console_.Fail(client_.Explain("list the changes of", status));
      return false;
    }
    std::map<std::string, std::string> shown;
    for (const Change& change : set_.changes) shown[change.path()] = change.SerializeAsString();
    for (const Change& change : now.changes) {
      if (shown[change.path()] == change.SerializeAsString()) continue;
      console_.Fail({"commit", ShownPath(change.path()) + ": it changed since it was shown",
                     "odyssey-ctl changes " + client_.name() + " lists what there is now"});
      return false;
    }
    return Commit(chosen, now.end.digest());
  }

  const Console& console_;
  const ChangesClient& client_;
  const ChangeSet& set_;
};

}  // namespace

std::optional<Decision> ParseDecision(std::string_view line) {
  const std::string_view word = Trimmed(line);
  if (word == "c" || word == "commit") return Decision::kCommit;
  if (word == "h" || word == "choose") return Decision::kChoose;
  if (word == "k" || word == "keep") return Decision::kKeep;
  if (word == "d" || word == "discard") return Decision::kDiscard;
  return std::nullopt;
}

bool DecideChanges(const Console& console, const ChangesClient& client) {
  ChangeSet set;
  const grpc::Status status = client.List({}, &set);
  if (!status.ok()) {
    console.Fail(client.Explain("list the changes of", status));
    return false;
  }
  if (IsEmpty(set.end.counts())) return true;
  Prompt prompt(console, client, set);
  const bool asks = console.in_is_terminal && console.out_is_terminal && !console.json;
  return asks ? prompt.Run() : prompt.Keep();
}

}  // namespace odyssey::ctl
