#ifndef ODYSSEY_TESTS_BENCH_FIGURES_H_
#define ODYSSEY_TESTS_BENCH_FIGURES_H_

// The whole-path figures: each brings up the cells it needs in a running supervisor, measures
// through gRPC beside its floor and its peer, in turn, and removes the cells.

#include <cstdint>

#include "common/base/status.h"
#include "tests/bench/report.h"
#include "tests/bench/supervisor.h"

namespace odyssey::bench {

// How much is measured.
struct Scale {
  int rounds = 1000;      // of what takes a millisecond or less
  int cold_rounds = 100;  // of what makes a cell
  int rate_rounds = 9;    // of what runs for a second
  int execs_per_client = 100;
  int stream_mib = 1024;
  int live_cells = 500;
  int many_files = 100'000;
  int few_files = 1000;
  int changed_files = 10'000;  // of one commit
  int repository_files = 10'000;
  int stored_sessions = 1000;  // on agentd's disk
  int stored_turns = 100;      // of each
};

// Enough to see that every figure can be measured.
inline constexpr Scale kQuickScale = {.rounds = 20,
                                      .cold_rounds = 3,
                                      .rate_rounds = 1,
                                      .execs_per_client = 5,
                                      .stream_mib = 64,
                                      .live_cells = 5,
                                      .many_files = 1000,
                                      .few_files = 100,
                                      .changed_files = 200,
                                      .repository_files = 200,
                                      .stored_sessions = 10,
                                      .stored_turns = 10};

// Exec of /bin/true in a warm cell: client → gRPC → exit status.
Result<Figure> MeasureWarmExec(const Supervisor& supervisor, const Scale& scale);
// The whole process `odyssey-ctl exec --cell` of true in a warm cell, from its start to its end.
Result<Figure> MeasureExecProcess(const Supervisor& supervisor, const Scale& scale);
// PrepareCell of a new ephemeral cell and its first exec.
Result<Figure> MeasureColdCell(const Supervisor& supervisor, const Scale& scale);
// PrepareCell that is given a cell made ahead, and its first exec, against an exec in a warm cell.
Result<Figure> MeasureClaim(const Supervisor& supervisor, const Scale& scale);
// Execs per second of eight clients, each in a cell of its own.
Result<Figure> MeasureParallelExecs(const Supervisor& supervisor, const Scale& scale);
// A command's stdout, drained by the client.
Result<Figure> MeasureStdout(const Supervisor& supervisor, const Scale& scale);
// FileOp Read of 4 KiB.
Result<Figure> MeasureFileRead(const Supervisor& supervisor, const Scale& scale);
// Proportional set size of every process of an idle warm cell, file worker included.
Result<Figure> MeasureIdleMemory(const Supervisor& supervisor, const Scale& scale);
// Warm exec while many cells live, against the same with one.
Result<Figure> MeasureManyCells(const Supervisor& supervisor, const Scale& scale);
// Warm exec in a workspace with many files, against the same in an empty one.
Result<Figure> MeasureWorkspaceSize(const Supervisor& supervisor, const Scale& scale);
// CommitChanges of files that a command in the cell changed, against `cp -a` of them.
Result<Figure> MeasureCommit(const Supervisor& supervisor, const Scale& scale);
// UndoCommits of that commit, against the same.
Result<Figure> MeasureUndo(const Supervisor& supervisor, const Scale& scale);
// ListChanges of a hundred changed files in a large tree, against the same in a small one.
Result<Figure> MeasureListChanges(const Supervisor& supervisor, const Scale& scale);
// A cold cell that writes to a host directory on a copy, against one that writes to it directly.
Result<Figure> MeasureColdReviewed(const Supervisor& supervisor, const Scale& scale);
// `git status` and `grep -r` in a host directory that a cell writes directly, against the host.
Result<Figure> MeasureRepository(const Supervisor& supervisor, const Scale& scale);
// SubmitTurn of a turn with one Bash call, until a subscriber has its end.
Result<Figure> MeasureTurn(const Supervisor& supervisor, const Scale& scale);
// Such turns per second of sixteen sessions.
Result<Figure> MeasureTurns(const Supervisor& supervisor, const Scale& scale);
// A call of Grep over many files of the host, against `rg` there.
Result<Figure> MeasureGrep(const Supervisor& supervisor, const Scale& scale);
// Every event of a session, from the first, to a new subscriber.
Result<Figure> MeasureReplay(const Supervisor& supervisor, const Scale& scale);
// From the start of agentd until it is ready, with many sessions on its disk; its memory then.
Result<Figure> MeasureAgentdStart(const Supervisor& supervisor, const Scale& scale);

}  // namespace odyssey::bench

#endif  // ODYSSEY_TESTS_BENCH_FIGURES_H_
