// changes, diff, commit, undo, discard, commits.
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "common/message/message_json.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/line_reader.h"
#include "ctl/base/sanitize.h"
#include "ctl/changes/change_choice.h"
#include "ctl/changes/changes_client.h"
#include "ctl/changes/reviewed_cells.h"
#include "ctl/view/change_view.h"
#include "ctl/view/diff_view.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::ChangeSelection;
using Selections = ChangesClient::Selections;

// The words after the cell's.
Selections Selected(const Invocation& call) {
  Selections selections;
  for (size_t i = 1; i < call.options.words().size(); ++i) {
    selections.emplace_back().set_path(call.options.words()[i]);
  }
  return selections;
}

template <typename Body>
int WithChanges(const Invocation& call, Body body) {
  Failure failure;
  auto client = ChangesClient::Connect(call.options.Word(0), call.locations, &failure);
  return client.ok() ? body(*client) : call.console->Fail(failure);
}

template <typename Response>
int Report(const Invocation& call, const ChangesClient& client, const Response& response,
           const std::string& done) {
  if (call.console->json) {
    call.console->PrintJson(message::ToJson(response));
  } else {
    call.console->PrintLine(done);
  }
  bool failed = false;
  for (const auto& refused : response.refused()) {
    if (!call.console->json) call.console->Warn(RefusalLine(refused, client.name()));
    // What is marked was not asked for.
    failed = failed || !refused.marked();
  }
  return failed ? kExitFailed : kExitOk;
}

Json JsonOf(const ChangeSet& set) {
  Json changes = Json::array();
  for (const auto& change : set.changes) changes.push_back(message::ToJson(change));
  Json out = message::ToJson(set.end);
  out["changes"] = std::move(changes);
  return out;
}

void PrintChanges(const Console& console, const ChangeSet& set) {
  for (const auto& change : set.changes) {
    console.PrintLine(ChangeLine(change, console.color_out));
  }
  console.PrintLine(CountsText(set.end.counts()));
  if (set.end.truncated()) {
    console.Warn("odyssey-ctl: there are more; name a directory to see those in it");
  }
}

int List(const Invocation& call) {
  const bool root_alone = call.options.Has("root");
  if (call.options.words().empty()) {
    if (!root_alone) return ListReviewedCells(*call.console, call.locations);
    call.console->Fail({"changes", "--root: only with SESSION|CELL", ""});
    return kExitUsage;
  }
  return WithChanges(call, [&](ChangesClient& client) {
    const Console& console = *call.console;
    ChangeSet set, root;
    client.SetRoot(root_alone);
    Status status = client.List(Selected(call), &set);
    const bool has_root =
        !root_alone && !set.end.image().empty() && call.options.words().size() == 1;
    if (status.ok() && has_root) {
      client.SetRoot(true);
      status = client.List({}, &root);
    }
    if (!status.ok()) return console.Fail(client.Explain("list the changes of", status));
    if (console.json) {
      Json out = JsonOf(set);
      if (has_root) out["root"] = JsonOf(root);
      console.PrintJson(out);
      return kExitOk;
    }
    PrintChanges(console, set);
    if (!has_root) return kExitOk;
    const std::string command = CommandText({"odyssey-ctl", "image", "commit", client.name()});
    const bool session = !client.key().session_id().empty();  // whose cell has no name
    console.PrintLine("of the image that is its root" +
                      (session ? ":" : " (" + command + " NAME keeps them):"));
    PrintChanges(console, root);
    return kExitOk;
  });
}

int Diff(const Invocation& call) {
  return WithChanges(call, [&](ChangesClient& client) {
    const Console& console = *call.console;
    Failure failure;
    const std::string against = call.options.Text("against");
    if (!against.empty() && !client.SetAgainst(against, &failure).ok()) {
      return console.Fail(failure);
    }
    client.SetRoot(call.options.Has("root"));
    std::string text;
    bool truncated = false;
    const Status status =
        client.Diff(Selected(call), call.options.Size("max-bytes"), &text, &truncated);
    if (!status.ok()) return console.Fail(client.Explain("show the changes of", status));
    if (console.json) {
      console.PrintJson({{"diff", text}, {"truncated", truncated}});
      return kExitOk;
    }
    // For a file or a patch it is what it is; a terminal acts on what it is sent.
    console.Print(console.out_is_terminal ? FormatDiff(text, console.color_out) : text);
    if (truncated) console.Warn("odyssey-ctl: the rest was left out; --max-bytes shows more");
    return kExitOk;
  });
}

int Commit(const Invocation& call) {
  return WithChanges(call, [&](const ChangesClient& client) {
    Selections selections = Selected(call);
    const std::vector<std::string>& hunks = call.options.All("hunk");
    if (!hunks.empty() && selections.size() != 1) {
      call.console->Fail({"commit", "--hunk " + hunks.front() + ": allowed with one PATH", ""});
      return kExitUsage;
    }
    for (const std::string& hunk : hunks) {
      selections[0].add_hunks(static_cast<uint32_t>(std::stoul(hunk)));
    }
    for (const std::string& path : call.options.All("marked")) {
      ChangeSelection& selection = selections.emplace_back();
      selection.set_path(path);
      selection.set_marked(true);
    }
    supervisor::v1::CommitChangesResponse response;
    const Status status = client.Commit(selections, call.options.Text("digest"), &response);
    if (!status.ok()) {
      return call.console->Fail(client.Explain("commit the changes of", status));
    }
    return Report(call, client, response,
                  response.commit() == 0
                      ? "nothing was committed"
                      : "committed " + std::to_string(response.committed()) + " as commit " +
                            std::to_string(response.commit()) + "; odyssey-ctl undo " +
                            client.name() + " takes it back");
  });
}

int Undo(const Invocation& call) {
  return WithChanges(call, [&](const ChangesClient& client) {
    supervisor::v1::UndoCommitsRequest request;
    *request.mutable_key() = client.key();
    request.set_commits(static_cast<uint32_t>(call.options.Number("commits")));
    supervisor::v1::UndoCommitsResponse response;
    const Status status = client.stub().UndoCommits({10 * kCellCallMs}, request, &response);
    if (!status.ok()) return call.console->Fail(client.Explain("undo a commit of", status));
    return Report(call, client, response,
                  "took back " + std::to_string(response.commits()) +
                      (response.commits() == 1 ? " commit, " : " commits, ") +
                      std::to_string(response.restored()) + " paths; the changes are kept");
  });
}

// Whether a person agrees; without a terminal only --yes does.
bool MayDiscard(const Invocation& call, const ChangesClient& client) {
  const Console& console = *call.console;
  if (call.options.Has("yes")) return true;
  if (!console.in_is_terminal || !console.out_is_terminal) {
    console.Fail({"discard " + client.name(), "there is no terminal to ask on",
                  "--yes discards without a question"});
    return false;
  }
  ChangeSet set;
  if (client.List(Selected(call), &set).ok()) console.PrintLine(CountsText(set.end.counts()));
  LineReader reader(STDIN_FILENO);
  console.Print("  forget them for good? y yes, n no: ");
  const std::optional<std::string> line = reader.Read();
  return line && ParseChoice(*line) == Answer::kYes;
}

int Discard(const Invocation& call) {
  return WithChanges(call, [&](const ChangesClient& client) {
    if (!MayDiscard(call, client)) return kExitFailed;
    supervisor::v1::DiscardChangesResponse response;
    const Status status = client.Discard(Selected(call), &response);
    if (!status.ok()) {
      return call.console->Fail(client.Explain("discard the changes of", status));
    }
    return Report(call, client, response, "discarded " + std::to_string(response.discarded()));
  });
}

int Commits(const Invocation& call) {
  return WithChanges(call, [&](const ChangesClient& client) {
    const Console& console = *call.console;
    supervisor::v1::ListCommitsRequest request;
    *request.mutable_key() = client.key();
    supervisor::v1::ListCommitsResponse response;
    const Status status = client.stub().ListCommits({kCellCallMs}, request, &response);
    if (!status.ok()) return console.Fail(client.Explain("list the commits of", status));
    if (console.json) {
      console.PrintJson(message::ToJson(response));
      return kExitOk;
    }
    std::vector<std::vector<std::string>> rows;
    for (const auto& commit : response.commits()) {
      rows.push_back(
          {std::to_string(commit.commit()), commit.time(), std::to_string(commit.paths())});
    }
    if (rows.empty()) {
      console.PrintLine("no commits that could be undone");
    } else {
      console.Print(FormatTable({"COMMIT", "TIME", "PATHS"}, rows));
    }
    return kExitOk;
  });
}

}  // namespace

std::vector<Command> ChangesCommands() {
  const PositionalSpec cell = {.name = "SESSION|CELL"};
  const PositionalSpec maybe = {.name = "SESSION|CELL", .required = false};
  const OptionSpec root = {.name = "root",
                           .help = "of the cell's root, which is an image, instead"};
  const PositionalSpec paths = {.name = "PATH", .required = false, .many = true};
  return {
      {.name = "changes",
       .summary = "list what a session or cell changed in reviewed directories",
       .positionals = {maybe, paths},
       .options = {root},
       .notes =
           "Without SESSION|CELL: which have such directories. CELL is also the NAME of exec "
           "--cell NAME.\nPATH is relative to the workspace or the only reviewed directory, or "
           "absolute in the cell or on the host; a directory means all in it.\nA cell whose root "
           "is an "
           "image: also what it changed there; with --root that alone, and PATH is of the cell.",
       .run = List},
      {.name = "diff",
       .summary = "show these changes as a unified diff",
       .positionals = {cell, paths},
       .options = {{.name = "against",
                    .kind = ValueKind::kText,
                    .value_name = "SESSION|CELL",
                    .help = "what differs from this one, a fork for example, instead of the host"},
                   {.name = "max-bytes",
                    .kind = ValueKind::kSize,
                    .value_name = "SIZE",
                    .help = "of text in all (default 1m, at most 16m)"},
                   root},
       .run = Diff},
      {.name = "commit",
       .summary = "write changes to the host's directory: all that are not marked, or PATHs",
       .positionals = {cell, paths},
       .options = {{.name = "marked",
                    .kind = ValueKind::kText,
                    .value_name = "PATH",
                    .help = "this one although the host would run or obey it",
                    .repeatable = true},
                   {.name = "hunk",
                    .kind = ValueKind::kNumber,
                    .value_name = "N",
                    .help = "of PATH only this hunk of its diff, counted from 1",
                    .min = 1,
                    .max = 10'000,
                    .repeatable = true},
                   {.name = "digest",
                    .kind = ValueKind::kText,
                    .value_name = "DIGEST",
                    .help = "only if the changes are those that changes -o json listed"}},
       .notes = "Exit code: 0 done (what is marked and was not named is told), 1 something was "
                "refused.",
       .run = Commit},
      {.name = "undo",
       .summary = "revert the newest commit; the changes are kept",
       .positionals = {cell},
       .options = {{.name = "commits",
                    .kind = ValueKind::kNumber,
                    .value_name = "N",
                    .help = "the newest N",
                    .min = 1,
                    .max = 32}},
       .run = Undo},
      {.name = "discard",
       .summary = "drop changes: all, or PATHs",
       .positionals = {cell, paths},
       .options = {{.name = "yes", .help = "without a question"}},
       .run = Discard},
      {.name = "commits",
       .summary = "list the commits that can be undone",
       .positionals = {cell},
       .run = Commits},
  };
}

}  // namespace odyssey::ctl
