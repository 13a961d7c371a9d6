#ifndef ODYSSEY_TESTS_BENCH_AGENTD_H_
#define ODYSSEY_TESTS_BENCH_AGENTD_H_

// A real agentd beside the benchmark's supervisor, and clients of it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "common/base/status.h"
#include "odyssey/agent/v1/session.grpc.pb.h"
#include "tests/bench/child.h"
#include "tests/bench/supervisor.h"

namespace odyssey::bench {

// odyssey-agentd with its state in the supervisor's directory. Stopped when it goes out of scope.
class Agentd final {
 public:
  static Result<std::unique_ptr<Agentd>> Start(const Supervisor& supervisor,
                                               const std::vector<std::string>& options = {});
  Agentd(const Agentd&) = delete;
  Agentd& operator=(const Agentd&) = delete;
  ~Agentd();

  std::string socket() const { return directory_ + "/run/agentd.sock"; }
  const std::string& state() const { return state_; }
  // A bundle whose model calls Bash with `true` once, then ends the turn; or says a word.
  Result<std::string> MakeBundle() const;
  Result<std::string> MakeTalkingBundle() const;
  // One whose model calls Grep in `directory` of the host, which the cell reads, with so many
  // cores.
  Result<std::string> MakeGrepBundle(const std::string& directory, const std::string& pattern,
                                     unsigned cores) const;
  pid_t pid() const { return process_->pid(); }

 private:
  Result<std::string> Write(const std::string& name, const std::string& manifest,
                            const std::string& scenario) const;
  explicit Agentd(const Supervisor& supervisor)
      : directory_(supervisor.directory()), state_(supervisor.agentd_state()) {}
  std::string directory_;
  std::string state_;
  std::optional<Child> process_;
};

// One session and a subscription to its events. Blocking; for one thread at a time.
class SessionClient final {
 public:
  static Result<std::unique_ptr<SessionClient>> Create(const Agentd& agentd,
                                                       const std::string& bundle);
  SessionClient(const SessionClient&) = delete;
  SessionClient& operator=(const SessionClient&) = delete;
  // Removes the session.
  ~SessionClient();

  // Returns when the subscription has shown the end of the turn; an error if it did not complete.
  Status RunTurn();
  // The same turn; answers the time from the start of its only tool call to the end, in
  // microseconds, as the subscription shows them.
  Result<double> RunTurnForItsCall();
  // Every event from the first, by a subscription of its own; answers how many there were.
  Result<uint64_t> Replay();

 private:
  SessionClient() = default;
  Status Submit();
  std::unique_ptr<agent::v1::SessionService::Stub> stub_;
  std::string id_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<agent::v1::Event>> events_;
};

}  // namespace odyssey::bench

#endif  // ODYSSEY_TESTS_BENCH_AGENTD_H_
