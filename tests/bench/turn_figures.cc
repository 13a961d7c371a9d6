#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agentd/base/ids.h"
#include "agentd/session/session_store.h"
#include "common/os/unique_fd.h"
#include "tests/bench/agentd.h"
#include "tests/bench/figures.h"
#include "tests/bench/file_tree.h"
#include "tests/bench/floor.h"
#include "tests/bench/process_memory.h"
#include "tests/bench/rate.h"

namespace odyssey::bench {
namespace {

constexpr int kSessions = 16;
constexpr size_t kSearchedBytes = 200;  // of a file
constexpr double kMebibyte = 1024 * 1024;

// Two appends to a file, each with fdatasync: what the record and the journal of a turn wait for.
Status SyncTwice(int fd) {
  for (int i = 0; i < 2; ++i) {
    if (write(fd, "x", 1) != 1 || fdatasync(fd) != 0) return ErrnoStatus(errno, "sync");
  }
  return OkStatus();
}

std::string Milliseconds(double us) {
  char text[32];
  snprintf(text, sizeof(text), "%.2f ms", us / 1000);
  return text;
}

}  // namespace

Result<Figure> MeasureTurn(const Supervisor& supervisor, const Scale& scale) {
  ODY_ASSIGN_OR_RETURN(const auto agentd, Agentd::Start(supervisor));
  ODY_ASSIGN_OR_RETURN(const std::string bundle, agentd->MakeBundle());
  ODY_ASSIGN_OR_RETURN(const auto session, SessionClient::Create(*agentd, bundle));
  Client client(supervisor);
  ODY_ASSIGN_OR_RETURN(const auto cell, ScopedCell::Make(&client, {.component = "turn"}));
  const UniqueFd file(
      open((agentd->state() + "/sync").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return ErrnoStatus(errno, "open " + agentd->state() + "/sync");
  const std::vector<std::string> shell = {"sh", "-lc", "true"};
  ODY_ASSIGN_OR_RETURN(const std::vector<Samples> s,
                       Interleave({Timed([&] { return session->RunTurn(); }),
                                   Timed([&] { return client.Exec(cell->id(), shell).status(); }),
                                   Timed([&] { return SyncTwice(file.get()); })},
                                  scale.cold_rounds / 20 + 1, scale.cold_rounds));
  const double beyond = s[0].Median() - s[1].Median() - s[2].Median();
  return Figure{.what = "a turn with one Bash call of `true`, scripted model",
                .odyssey = Times(s[0]),
                .floor = "the command by `Exec`: " + Times(s[1]) + "; two fsyncs: " + Times(s[2]),
                .peer = "",
                .targets = {{"≤ 2 ms beyond both", Milliseconds(beyond), beyond <= 2000}}};
}

Result<Figure> MeasureTurns(const Supervisor& supervisor, const Scale& scale) {
  ODY_ASSIGN_OR_RETURN(const auto agentd, Agentd::Start(supervisor));
  ODY_ASSIGN_OR_RETURN(const std::string bundle, agentd->MakeBundle());
  std::vector<std::unique_ptr<SessionClient>> sessions;
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::unique_ptr<ScopedCell>> cells;
  for (int i = 0; i < kSessions; ++i) {
    ODY_ASSIGN_OR_RETURN(auto session, SessionClient::Create(*agentd, bundle));
    sessions.push_back(std::move(session));
    clients.push_back(std::make_unique<Client>(supervisor));
    ODY_ASSIGN_OR_RETURN(auto cell, ScopedCell::Make(clients.back().get(),
                                                     {.component = "turns" + std::to_string(i)}));
    cells.push_back(std::move(cell));
  }
  const std::vector<std::string> shell = {"sh", "-lc", "true"};
  const int each = scale.execs_per_client;
  const Measure turns = [&] {
    return Rate(kSessions, each, [&](int t) { return sessions[t]->RunTurn(); });
  };
  const Measure execs = [&] {
    return Rate(kSessions, each,
                [&](int t) { return clients[t]->Exec(cells[t]->id(), shell).status(); });
  };
  ODY_ASSIGN_OR_RETURN(const std::vector<Samples> s,
                       Interleave({turns, execs}, 1, scale.rate_rounds));
  const double share = s[0].Median() / s[1].Median();
  return Figure{.what = "turns per second, " + std::to_string(kSessions) + " sessions",
                .odyssey = PerSecond(s[0], "turns"),
                .floor = "the same commands by `Exec`: " + PerSecond(s[1], "execs"),
                .peer = "",
                .targets = {{"≥ 60 % of them", std::to_string(std::lround(share * 100)) + " %",
                             share >= 0.6}}};
}

Result<Figure> MeasureGrep(const Supervisor& supervisor, const Scale& scale) {
  // In one of a hundred files, on one line.
  const std::string pattern = "file [0-9]*77, line 1$";
  const std::string directory = supervisor.directory() + "/searched";
  ODY_RETURN_IF_ERROR(MakeFiles(directory, scale.many_files, kSearchedBytes));
  ODY_ASSIGN_OR_RETURN(const auto agentd, Agentd::Start(supervisor));
  const auto search_with = [&](unsigned cores) -> Result<std::unique_ptr<SessionClient>> {
    ODY_ASSIGN_OR_RETURN(const std::string bundle,
                         agentd->MakeGrepBundle(directory, pattern, cores));
    return SessionClient::Create(*agentd, bundle);
  };
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  ODY_ASSIGN_OR_RETURN(const auto of_all, search_with(cores));
  ODY_ASSIGN_OR_RETURN(const auto of_one, search_with(1));
  const auto on_host = [&](unsigned threads) {
    return Timed([=] {
      return DrainPipe({"/usr/bin/rg", "--no-config", "--hidden", "--line-number",
                        "--threads=" + std::to_string(threads), pattern, directory})
          .status();
    });
  };
  ODY_ASSIGN_OR_RETURN(const std::vector<Samples> s,
                       Interleave({[&] { return of_all->RunTurnForItsCall(); }, on_host(cores),
                                   [&] { return of_one->RunTurnForItsCall(); }, on_host(1)},
                                  1, scale.rate_rounds));
  const std::string all = std::to_string(cores);
  return Figure{
      .what = "Grep over " + std::to_string(scale.many_files) + " files",
      .odyssey = "in a cell with " + all + " cores: " + Times(s[0]) + "; with one: " + Times(s[2]),
      .floor = "`rg` on the host, " + all + " threads: " + Times(s[1]) + "; one: " + Times(s[3]),
      .peer = "",
      .targets = {AtMostTimes(1.2, s[0].Median(), s[1].Median(), "`rg`"),
                  AtMostTimes(1.2, s[2].Median(), s[3].Median(), "`rg` with one thread")}};
}

Result<Figure> MeasureReplay(const Supervisor& supervisor, const Scale& scale) {
  ODY_ASSIGN_OR_RETURN(const auto agentd, Agentd::Start(supervisor));
  ODY_ASSIGN_OR_RETURN(const std::string bundle, agentd->MakeBundle());
  ODY_ASSIGN_OR_RETURN(const auto session, SessionClient::Create(*agentd, bundle));
  for (int i = 0; i < scale.rounds; ++i) ODY_RETURN_IF_ERROR(session->RunTurn());
  uint64_t events = 0;
  const Measure replay = Timed([&]() -> Status {
    ODY_ASSIGN_OR_RETURN(events, session->Replay());
    return OkStatus();
  });
  ODY_ASSIGN_OR_RETURN(const std::vector<Samples> s, Interleave({replay}, 1, scale.rate_rounds));
  const double rate = static_cast<double>(events) / s[0].Median() * 1e6;
  const std::string said = std::to_string(std::lround(rate)) + " events/s";
  return Figure{.what = "replay of " + std::to_string(events) + " events",
                .odyssey = said,
                .floor = "",
                .peer = "",
                .targets = {{"≥ 200000 events/s", said, rate >= 200'000}}};
}

Result<Figure> MeasureAgentdStart(const Supervisor& supervisor, const Scale& scale) {
  std::string state;
  {
    ODY_ASSIGN_OR_RETURN(const auto agentd, Agentd::Start(supervisor));
    state = agentd->state();
  }
  session::SessionStore store(state + "/sessions");
  agent::RandomIds ids;
  session::TurnRecord turn;
  turn.status = session::TurnStatus::kCompleted;
  turn.prompt = "Look at the directory and say what is in it.";
  turn.announced = true;
  turn.history = {{model::MessageKind::kUser, turn.prompt, {}},
                  {model::MessageKind::kToolUse, "", {{"c", "Bash", "{\"command\":\"ls\"}"}}},
                  {model::MessageKind::kToolResult, "", {{"c", "Bash", std::string(512, 'x')}}},
                  {model::MessageKind::kAssistant, std::string(256, 'y'), {}}};
  for (int i = 0; i < scale.stored_sessions; ++i) {
    session::SessionRecord record;
    record.id = ids.New("ses");
    record.bundle = {"bench", "1.0.0", std::string(64, '0')};
    record.agent_id = "bench";
    record.owner_uid = getuid();
    record.created_at = "2026-01-01T00:00:00.000Z";
    for (int t = 0; t < scale.stored_turns; ++t) {
      turn.id = ids.New("trn");
      record.turns.push_back(turn);
    }
    ODY_RETURN_IF_ERROR(store.Create(std::move(record)));
  }
  std::unique_ptr<Agentd> agentd;
  const Measure start = Timed([&]() -> Status {
    ODY_ASSIGN_OR_RETURN(agentd, Agentd::Start(supervisor));
    return OkStatus();
  });
  ODY_ASSIGN_OR_RETURN(const double took, start());
  const double bytes = PssOf(agentd->pid());
  agentd.reset();
  std::filesystem::remove_all(state);
  char memory[32];
  snprintf(memory, sizeof(memory), "%.0f MB", bytes / kMebibyte);
  return Figure{
      .what = "start of agentd with " + std::to_string(scale.stored_sessions) + " sessions of " +
              std::to_string(scale.stored_turns) + " turns",
      .odyssey = Milliseconds(took) + ", " + memory,
      .floor = "",
      .peer = "",
      .targets = {AtMostMilliseconds(2000, took), {"≤ 150 MB", memory, bytes <= 150 * kMebibyte}}};
}

}  // namespace odyssey::bench
