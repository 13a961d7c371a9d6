#include <fcntl.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/os/unique_fd.h"
#include "tests/bench/child.h"
#include "tests/bench/figures.h"
#include "tests/bench/floor.h"
#include "tests/bench/rate.h"

namespace odyssey::bench {
namespace {

constexpr int kClients = 8;
constexpr double kMegabyte = 1e6;

Measure WarmExec(Client* client, const std::string& cell_id) {
  return Timed([client, cell_id] { return client->Exec(cell_id, TrueCommand()).status(); });
}

Measure Spawn() {
  return Timed([] { return SpawnAndWait(TrueCommand()); });
}

// PrepareCell of a new cell each time, and the first exec in it. The removal is not timed.
Measure FirstExec(Client* client, const CellOptions& options) {
  return [client, options, number = 0]() mutable -> Result<double> {
    CellOptions one = options;
    one.component += std::to_string(number++);
    std::unique_ptr<ScopedCell> cell;
    const Measure make = Timed([&]() -> Status {
      ODY_ASSIGN_OR_RETURN(cell, ScopedCell::Make(client, one));
      return client->Exec(cell->id(), TrueCommand()).status();
    });
    return make();
  };
}

// A measure of bytes per second of `drain`, which answers how many it saw.
Measure Throughput(std::function<Result<uint64_t>()> drain) {
  return [drain = std::move(drain)]() -> Result<double> {
    const auto start = std::chrono::steady_clock::now();
    ODY_ASSIGN_OR_RETURN(const uint64_t bytes, drain());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return static_cast<double>(bytes) / kMegabyte / took.count();
  };
}

}  // namespace

Result<Figure> MeasureWarmExec(const Supervisor& supervisor, const Scale& scale) {
  Client client(supervisor);
  ODY_ASSIGN_OR_RETURN(const auto cell, ScopedCell::Make(&client, {.component = "warm"}));
  ODY_ASSIGN_OR_RETURN(const std::vector<Samples> s,
                       Interleave({WarmExec(&client, cell->id()), Spawn(), Timed(BwrapTrue)},
                                  scale.rounds / 20, scale.rounds));
  const double ours = s[0].Median();
  return Figure{.what = "warm `Exec` of `/bin/true`",
                .odyssey = Times(s[0]),
                .floor = "posix_spawn: " + Times(s[1]),
                .peer = "bwrap: " + Times(s[2]),
                .targets = {AtMostMilliseconds(1.0, ours),
                            AtMostTimes(2.5, ours, s[1].Median(), "posix_spawn"),
                            AtLeastTimesFaster(4, ours, s[2].Median(), "bwrap")}};
}

Result<Figure> MeasureExecProcess(const Supervisor& supervisor, const Scale& scale) {
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "odyssey-ctl";
  const auto words = [&](std::vector<std::string> command) {
    command.insert(command.begin(), {program, "--state", supervisor.directory()});
    return command;
  };
  const std::vector<std::string> command = words({"exec", "--cell", "process", "--", "true"});
  const Measure ours = Timed([&] { return SpawnAndWait(command); });
  ODY_RETURN_IF_ERROR(SpawnAndWait(command));  // makes the cell
  const Result<std::vector<Samples>> s =
      Interleave({ours, Spawn(), Timed(BwrapTrue)}, scale.rounds / 20, scale.rounds);
  const UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  ODY_ASSIGN_OR_RETURN(Child remove, Child::Spawn(words({"cell", "rm", "--purge", "process"}),
                                                  {.stdout_fd = null.get()}));
  ODY_RETURN_IF_ERROR(remove.Wait());
  ODY_RETURN_IF_ERROR(s.status());
  return Figure{.what = "`odyssey-ctl exec`, whole process, warm cell",
                .odyssey = Times((*s)[0]),
                .floor = "posix_spawn: " + Times((*s)[1]),
                .peer = "bwrap: " + Times((*s)[2]),
                .targets = {AtMostTimes(1.2, (*s)[0].Median(), (*s)[2].Median(), "bwrap")}};
}

Result<Figure> MeasureColdCell(const Supervisor& supervisor, const Scale& scale) {
  Client client(supervisor);
  const Measure cold = FirstExec(&client, {.component = "cold"});
  ODY_ASSIGN_OR_RETURN(
      const std::vector<Samples> s,
      Interleave({cold, Spawn(), Timed(BwrapTrue)}, scale.cold_rounds / 20 + 1, scale.cold_rounds));
  return Figure{.what = "`PrepareCell` and first exec (cold)",
                .odyssey = Times(s[0]),
                .floor = "posix_spawn: " + Times(s[1]),
                .peer = "bwrap: " + Times(s[2]),
                .targets = {AtMostTimes(2, s[0].Median(), s[2].Median(), "bwrap")}};
}

Result<Figure> MeasureClaim(const Supervisor& supervisor, const Scale& scale) {
  Client client(supervisor);
  ODY_ASSIGN_OR_RETURN(const auto warm, ScopedCell::Make(&client, {.component = "unclaimed"}));
  const Measure first = FirstExec(&client, {.component = "claim", .pooled = true});
  for (int i = 0; i < 2; ++i) ODY_RETURN_IF_ERROR(first().status());  // the second makes demand
  const Measure claim = [&]() -> Result<double> {
    ODY_RETURN_IF_ERROR(client.AwaitPool());
    ODY_ASSIGN_OR_RETURN(const double took, first());
    ODY_RETURN_IF_ERROR(client.AwaitPool());  // the next one is not made beside the other figures
    return took;
  };
  ODY_ASSIGN_OR_RETURN(const std::vector<Samples> s,
                       Interleave({claim, WarmExec(&client, warm->id()),
                                   FirstExec(&client, {.component = "new"}), Timed(BwrapTrue)},
                                  scale.cold_rounds / 20 + 1, scale.cold_rounds));
  const double ours = s[0].Median();
  return Figure{.what = "`PrepareCell` that claims a cell made ahead, and first exec",
                .odyssey = Times(s[0]),
                .floor = "warm `Exec`: " + Times(s[1]) + "; cold: " + Times(s[2]),
                .peer = "bwrap: " + Times(s[3]),
                .targets = {AtMostTimes(1.3, ours, s[1].Median(), "a warm exec")}};
}

Result<Figure> MeasureParallelExecs(const Supervisor& supervisor, const Scale& scale) {
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::unique_ptr<ScopedCell>> cells;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<Client>(supervisor));
    ODY_ASSIGN_OR_RETURN(
        auto cell,
        ScopedCell::Make(clients.back().get(), {.component = "parallel" + std::to_string(i)}));
    cells.push_back(std::move(cell));
  }
  const int each = scale.execs_per_client;
  const Measure ours = [&] {
    return Rate(kClients, each,
                [&](int t) { return clients[t]->Exec(cells[t]->id(), TrueCommand()).status(); });
  };
  const Measure spawn = [&] {
    return Rate(kClients, each, [](int) { return SpawnAndWait(TrueCommand()); });
  };
  const Measure bwrap = [&] { return Rate(kClients, each, [](int) { return BwrapTrue(); }); };
  ODY_ASSIGN_OR_RETURN(const std::vector<Samples> s,
                       Interleave({ours, spawn, bwrap}, 1, scale.rate_rounds));
  const double share = s[0].Median() / s[1].Median();
  return Figure{.what = "execs per second, " + std::to_string(kClients) + " clients",
                .odyssey = PerSecond(s[0], "execs"),
                .floor = "posix_spawn: " + PerSecond(s[1], "execs"),
                .peer = "bwrap: " + PerSecond(s[2], "execs"),
                .targets = {{"≥ 50 % of posix_spawn",
                             std::to_string(std::lround(share * 100)) + " %", share >= 0.5}}};
}

Result<Figure> MeasureStdout(const Supervisor& supervisor, const Scale& scale) {
  Client client(supervisor);
  ODY_ASSIGN_OR_RETURN(const auto cell, ScopedCell::Make(&client, {.component = "stdout"}));
  const std::vector<std::string> command = {"/usr/bin/dd", "if=/dev/zero", "bs=1M",
                                            "count=" + std::to_string(scale.stream_mib),
                                            "status=none"};
  ODY_ASSIGN_OR_RETURN(const std::vector<Samples> s,
                       Interleave({Throughput([&] { return client.Exec(cell->id(), command); }),
                                   Throughput([&] { return DrainPipe(command); })},
                                  1, scale.rate_rounds));
  const double ours = s[0].Median();
  return Figure{.what = "stdout, " + std::to_string(scale.stream_mib) + " MiB of `dd bs=1M`",
                .odyssey = PerSecond(s[0], "MB"),
                .floor = "a pipe: " + PerSecond(s[1], "MB"),
                .peer = "",
                .targets = {{"≥ 700 MB/s", PerSecond(s[0], "MB"), ours >= 700}}};
}

}  // namespace odyssey::bench
