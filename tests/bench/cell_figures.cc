#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/figures.h"
#include "tests/bench/file_tree.h"
#include "tests/bench/floor.h"
#include "tests/bench/process_memory.h"

namespace odyssey::bench {
namespace {

constexpr size_t kReadBytes = 4096;
constexpr double kMebibyte = 1024 * 1024;
constexpr char kFile[] = "file";

Measure WarmExec(Client* client, const std::string& cell_id) {
  return Timed([client, cell_id] { return client->Exec(cell_id, TrueCommand()).status(); });
}

std::string Mebibytes(double bytes) {
  char text[32];
  snprintf(text, sizeof(text), "%.2f MiB", bytes / kMebibyte);
  return text;
}

// A cell that has executed a command and served a file, as a session's cell has.
Result<std::unique_ptr<ScopedCell>> UsedCell(Client* client, const std::string& component) {
  ODY_ASSIGN_OR_RETURN(auto cell, ScopedCell::Make(client, {.component = component}));
  ODY_RETURN_IF_ERROR(client->Exec(cell->id(), TrueCommand()).status());
  ODY_RETURN_IF_ERROR(client->Write(cell->id(), kFile, std::string(kReadBytes, 'x')));
  return cell;
}

}  // namespace

Result<Figure> MeasureFileRead(const Supervisor& supervisor, const Scale& scale) {
  Client client(supervisor);
  ODY_ASSIGN_OR_RETURN(const auto cell, UsedCell(&client, "read"));
  const std::string host_file = supervisor.directory() + "/file";
  std::ofstream(host_file) << std::string(kReadBytes, 'x');
  ODY_ASSIGN_OR_RETURN(
      const std::vector<Samples> s,
      Interleave({Timed([&] { return client.Read(cell->id(), kFile).status(); }),
                  Timed([&] { return ReadWithPread(host_file, kReadBytes).status(); })},
                 scale.rounds / 20, scale.rounds));
  return Figure{.what = "`FileOp` Read of 4 KiB",
                .odyssey = Times(s[0]),
                .floor = "open, pread, close: " + Times(s[1]),
                .peer = "",
                .targets = {AtMostMilliseconds(0.4, s[0].Median())}};
}

Result<Figure> MeasureIdleMemory(const Supervisor& supervisor, const Scale& scale) {
  Client client(supervisor);
  ODY_ASSIGN_OR_RETURN(const auto first, UsedCell(&client, "memory"));
  ODY_ASSIGN_OR_RETURN(const ProcessMemory alone, MemoryOfUid(first->info().host_uid()));
  std::vector<std::unique_ptr<ScopedCell>> others;
  for (int i = 1; i < scale.live_cells; ++i) {
    ODY_ASSIGN_OR_RETURN(auto cell, UsedCell(&client, "memory" + std::to_string(i)));
    others.push_back(std::move(cell));
  }
  ODY_ASSIGN_OR_RETURN(const ProcessMemory among, MemoryOfUid(first->info().host_uid()));
  return Figure{.what = "memory of an idle warm cell, PSS of its " +
                        std::to_string(alone.processes) + " processes",
                .odyssey = Mebibytes(alone.pss_bytes) + " as the only cell, " +
                           Mebibytes(among.pss_bytes) + " as one of " +
                           std::to_string(scale.live_cells),
                .floor = "",
                .peer = "",
                .targets = {{"≤ 2 MB", Mebibytes(alone.pss_bytes), alone.pss_bytes <= 2e6}}};
}

Result<Figure> MeasureManyCells(const Supervisor& supervisor, const Scale& scale) {
  Client client(supervisor);
  ODY_ASSIGN_OR_RETURN(const auto only, UsedCell(&client, "only"));
  ODY_ASSIGN_OR_RETURN(const std::vector<Samples> one, Interleave({WarmExec(&client, only->id())},
                                                                  scale.rounds / 20, scale.rounds));
  std::vector<std::unique_ptr<ScopedCell>> cells;
  for (int i = 1; i < scale.live_cells; ++i) {
    ODY_ASSIGN_OR_RETURN(auto cell, UsedCell(&client, "many" + std::to_string(i)));
    cells.push_back(std::move(cell));
  }
  size_t next = 0;  // each exec in another cell
  const Measure in_turn = [&] { return WarmExec(&client, cells[next++ % cells.size()]->id())(); };
  ODY_ASSIGN_OR_RETURN(
      const std::vector<Samples> many,
      Interleave({WarmExec(&client, only->id()), in_turn}, scale.rounds / 20, scale.rounds));
  const std::string count = std::to_string(scale.live_cells);
  return Figure{.what = "warm exec with " + count + " live cells",
                .odyssey = "the same cell: " + Times(many[0]) +
                           "; each exec in another cell: " + Times(many[1]),
                .floor = "one live cell: " + Times(one[0]),
                .peer = "",
                .targets = {AtMostTimes(1.5, many[0].Median(), one[0].Median(), "one cell"),
                            AtMostTimes(1.5, many[1].Median(), one[0].Median(),
                                        "one cell (another each time)")}};
}

Result<Figure> MeasureWorkspaceSize(const Supervisor& supervisor, const Scale& scale) {
  Client client(supervisor);
  ODY_ASSIGN_OR_RETURN(const auto empty,
                       ScopedCell::Make(&client, {.component = "empty", .ephemeral = false}));
  ODY_ASSIGN_OR_RETURN(const auto full,
                       ScopedCell::Make(&client, {.component = "full", .ephemeral = false}));
  ODY_RETURN_IF_ERROR(MakeFiles(full->info().workspace_path(), scale.many_files, 0));
  ODY_ASSIGN_OR_RETURN(const std::vector<Samples> s,
                       Interleave({WarmExec(&client, full->id()), WarmExec(&client, empty->id())},
                                  scale.rounds / 20, scale.rounds));
  return Figure{.what = "warm exec, workspace with " + std::to_string(scale.many_files) + " files",
                .odyssey = Times(s[0]),
                .floor = "empty workspace: " + Times(s[1]),
                .peer = "",
                // Equal but for noise: a tenth.
                .targets = {AtMostTimes(1.1, s[0].Median(), s[1].Median(), "an empty one")}};
}

}  // namespace odyssey::bench
