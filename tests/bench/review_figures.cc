#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policy/plan/plan.h"
#include "tests/bench/figures.h"
#include "tests/bench/file_tree.h"
#include "tests/bench/floor.h"

namespace odyssey::bench {
namespace {

constexpr size_t kFileBytes = 4096;
constexpr size_t kListedFileBytes = 64;
constexpr int kListedChanges = 100;
constexpr int kMountedFiles = 10;

using Command = std::vector<std::string>;

// A cell that has changed the first `changed` of `files` files of the host, which wait for a
// commit. Its component is the name of the directory.
Result<std::unique_ptr<ScopedCell>> ChangedCell(Client* client, const std::string& directory,
                                                int files, size_t file_bytes, int changed) {
  ODY_RETURN_IF_ERROR(MakeFiles(directory, files, file_bytes));
  ODY_ASSIGN_OR_RETURN(
      auto cell, ScopedCell::Make(client, {.component = std::filesystem::path(directory).filename(),
                                           .ephemeral = false,
                                           .workspace = directory,
                                           .reviewed = true}));
  ODY_RETURN_IF_ERROR(client->Exec(cell->id(), ChangeFilesCommand(changed)).status());
  return cell;
}

// OK if it is of as many changes as there are.
Status Expect(int changes, const Result<uint32_t>& answer) {
  if (!answer.ok()) return answer.status();
  if (*answer == static_cast<uint32_t>(changes)) return OkStatus();
  return Internal(std::to_string(*answer) + " changes of " + std::to_string(changes));
}

// Nobody pays for writing out what another left dirty.
Measure TimedAlone(std::function<Status()> work) {
  return [measure = Timed(std::move(work))]() -> Result<double> {
    sync();
    return measure();
  };
}

struct CommitTimes {
  Samples commit, undo, copy;
};

// An undone commit leaves its changes as they were, for the next round.
Result<CommitTimes> CommitInTurn(const Supervisor& supervisor, const Scale& scale,
                                 const std::string& component) {
  Client client(supervisor);
  const int changed = scale.changed_files;
  const std::string directory = supervisor.directory() + "/" + component;
  const std::string copy = directory + "-copy";
  ODY_ASSIGN_OR_RETURN(const auto cell,
                       ChangedCell(&client, directory, changed, kFileBytes, changed));
  const Measure commit =
      TimedAlone([&] { return Expect(changed, client.CommitChanges(component)); });
  const Measure undo = TimedAlone([&] { return Expect(changed, client.UndoCommit(component)); });
  const Measure copy_all = TimedAlone([&] {
    return SpawnAndWait({"/bin/cp", "-a", directory, copy});
  });
  const Measure copy_anew = [&] {
    std::error_code ignored;
    std::filesystem::remove_all(copy, ignored);
    return copy_all();
  };
  ODY_ASSIGN_OR_RETURN(std::vector<Samples> s,
                       Interleave({commit, undo, copy_anew}, 1, scale.rate_rounds));
  return CommitTimes{.commit = s[0], .undo = s[1], .copy = s[2]};
}

Figure AgainstCopy(const std::string& what, const Scale& scale, const Samples& ours,
                   const Samples& copy) {
  return Figure{.what = what + " of " + std::to_string(scale.changed_files) + " changed files",
                .odyssey = Times(ours),
                .floor = "`cp -a` of them: " + Times(copy),
                .peer = "",
                .targets = {AtMostTimes(2, ours.Median(), copy.Median(), "`cp -a`")}};
}

// Nobody's configuration, and no locale.
Command Plain(const Command& command) {
  Command out = {"/usr/bin/env", "LC_ALL=C", "GIT_CONFIG_GLOBAL=/dev/null",
                 "GIT_CONFIG_NOSYSTEM=1"};
  out.insert(out.end(), command.begin(), command.end());
  return out;
}

Command GitStatus(const std::string& directory) {
  return Plain({"/usr/bin/git", "-C", directory, "status", "--porcelain"});
}

Command Grep(const std::string& directory) {
  return Plain({"/usr/bin/grep", "-rhF", "--exclude-dir=.git", "changed", directory});
}

// One commit, and ten files changed since. The files are older than the index, so that git knows
// them by their times.
Status MakeRepository(const std::string& directory, int files) {
  static const std::string script =
      "set -e; cd \"$1\"; find . -type f -exec touch -d '1 hour ago' {} +; git init -q; git add .; "
      "git -c gc.auto=0 -c user.name=bench -c user.email=bench@localhost commit -q -m first; "
      "git gc -q; for file in d0/f[0-9]; do echo changed >>$file; done";
  ODY_RETURN_IF_ERROR(MakeFiles(directory, files, kFileBytes));
  return SpawnAndWait(Plain({"/bin/sh", "-c", script, "sh", directory}));
}

// Both did the same, by what they wrote to stdout.
Status ExpectSame(const Result<uint64_t>& in_cell, const Result<uint64_t>& on_host) {
  if (!in_cell.ok()) return in_cell.status();
  if (!on_host.ok()) return on_host.status();
  if (*in_cell == *on_host && *on_host > 0) return OkStatus();
  return Internal(std::to_string(*in_cell) + " bytes from the cell, " + std::to_string(*on_host) +
                  " from the host");
}

}  // namespace

Result<Figure> MeasureCommit(const Supervisor& supervisor, const Scale& scale) {
  ODY_ASSIGN_OR_RETURN(const CommitTimes times, CommitInTurn(supervisor, scale, "commit"));
  return AgainstCopy("`CommitChanges`", scale, times.commit, times.copy);
}

Result<Figure> MeasureUndo(const Supervisor& supervisor, const Scale& scale) {
  ODY_ASSIGN_OR_RETURN(const CommitTimes times, CommitInTurn(supervisor, scale, "undo"));
  return AgainstCopy("`UndoCommits` of a commit", scale, times.undo, times.copy);
}

Result<Figure> MeasureListChanges(const Supervisor& supervisor, const Scale& scale) {
  Client client(supervisor);
  const std::string directory = supervisor.directory() + "/list-";
  ODY_ASSIGN_OR_RETURN(const auto large, ChangedCell(&client, directory + "large", scale.many_files,
                                                     kListedFileBytes, kListedChanges));
  ODY_ASSIGN_OR_RETURN(const auto small, ChangedCell(&client, directory + "small", scale.few_files,
                                                     kListedFileBytes, kListedChanges));
  const auto list = [&client](const std::string& component) {
    return Timed(
        [&client, component] { return Expect(kListedChanges, client.ListChanges(component)); });
  };
  ODY_ASSIGN_OR_RETURN(const std::vector<Samples> s,
                       Interleave({list("list-large"), list("list-small")},
                                  scale.cold_rounds / 20 + 1, scale.cold_rounds));
  const std::string few = std::to_string(scale.few_files);
  return Figure{.what = "`ListChanges`, " + std::to_string(kListedChanges) + " changed files of " +
                        std::to_string(scale.many_files),
                .odyssey = Times(s[0]),
                .floor = "as many of " + few + ": " + Times(s[1]),
                .peer = "",
                // Equal but for noise: a tenth.
                .targets = {AtMostTimes(1.1, s[0].Median(), s[1].Median(), "of " + few)}};
}

Result<Figure> MeasureColdReviewed(const Supervisor& supervisor, const Scale& scale) {
  Client client(supervisor);
  const std::string directory = supervisor.directory() + "/mounted";
  ODY_RETURN_IF_ERROR(MakeFiles(directory, kMountedFiles, kFileBytes));
  int number = 0;
  // Only the making is timed.
  const auto cold = [&](bool reviewed) -> Measure {
    return [&, reviewed]() -> Result<double> {
      std::unique_ptr<ScopedCell> cell;
      const Measure make = Timed([&]() -> Status {
        ODY_ASSIGN_OR_RETURN(
            cell, ScopedCell::Make(&client, {.component = "mounted" + std::to_string(number++),
                                             .ephemeral = false,
                                             .workspace = directory,
                                             .reviewed = reviewed}));
        return client.Exec(cell->id(), TrueCommand()).status();
      });
      return make();
    };
  };
  ODY_ASSIGN_OR_RETURN(
      const std::vector<Samples> s,
      Interleave({cold(true), cold(false)}, scale.cold_rounds / 20 + 1, scale.cold_rounds));
  return Figure{.what = "`PrepareCell` and first exec (cold), a host directory reviewed",
                .odyssey = Times(s[0]),
                .floor = "written directly: " + Times(s[1]),
                .peer = "",
                .targets = {AtMostMillisecondsMore(1, s[0].Median(), s[1].Median(), "directly")}};
}

Result<Figure> MeasureRepository(const Supervisor& supervisor, const Scale& scale) {
  Client client(supervisor);
  const std::string inside = supervisor.directory() + "/repository-cell";
  const std::string outside = supervisor.directory() + "/repository-host";
  for (const std::string& directory : {inside, outside}) {
    ODY_RETURN_IF_ERROR(MakeRepository(directory, scale.repository_files));
  }
  ODY_ASSIGN_OR_RETURN(const auto cell,
                       ScopedCell::Make(&client, {.component = "repository", .workspace = inside}));
  std::vector<Measure> measures;
  for (Command (*make)(const std::string&) : {GitStatus, Grep}) {
    const auto in_cell = [&, command = make(plan::kWorkspacePath)] {
      return client.Exec(cell->id(), command);
    };
    const auto on_host = [command = make(outside)] { return DrainPipe(command); };
    ODY_RETURN_IF_ERROR(ExpectSame(in_cell(), on_host()));
    measures.push_back(Timed([in_cell] { return in_cell().status(); }));
    measures.push_back(Timed([on_host] { return on_host().status(); }));
  }
  ODY_ASSIGN_OR_RETURN(const std::vector<Samples> s,
                       Interleave(measures, scale.cold_rounds / 20 + 1, scale.cold_rounds));
  return Figure{
      .what =
          "a repository of " + std::to_string(scale.repository_files) + " files, written directly",
      .odyssey = "`git status`: " + Times(s[0]) + "; `grep -r`: " + Times(s[2]),
      .floor = "on the host: `git status`: " + Times(s[1]) + "; `grep -r`: " + Times(s[3]),
      .peer = "",
      .targets = {AtMostTimes(1.1, s[0].Median(), s[1].Median(), "the host (`git status`)"),
                  AtMostTimes(1.1, s[2].Median(), s[3].Median(), "the host (`grep -r`)")}};
}

}  // namespace odyssey::bench
