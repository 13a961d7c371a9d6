#ifndef ODYSSEY_AGENTD_DAEMON_APPROVAL_ANSWERER_H_
#define ODYSSEY_AGENTD_DAEMON_APPROVAL_ANSWERER_H_

// Puts each request for approval to a program of the operator's, over a transport, and gives its
// answer. What is no answer denies the request.

#include <poll.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agentd/approval/registry.h"
#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::daemon {

// One request on its way. The destructor ends it; nothing of it goes on afterwards.
class AnswerRun {
 public:
  virtual ~AnswerRun() = default;
  // What came of it; nothing: it goes on. Does not block.
  virtual std::optional<Result<approval::Answer>> Advance() = 0;
  // Adds what becomes ready when Advance has something to do; -1 is no descriptor.
  virtual void AddPolled(std::vector<pollfd>* out) const = 0;
};

class AnswerTransport {
 public:
  virtual ~AnswerTransport() = default;
  // As ApprovalResolved.by has it.
  virtual std::string_view name() const = 0;
  // `question` is approval::QuestionLine's. An error is no answer.
  virtual Result<std::unique_ptr<AnswerRun>> Start(const std::string& question) = 0;
};

// 16 requests at a time. A run ends when its question is answered or taken back, after the timeout,
// and by the destructor.
class ApprovalAnswerer final {
 public:
  struct Options {
    bool fallback_ask = false;  // a question without an answer waits for a client; else: denied
    std::chrono::milliseconds timeout = std::chrono::seconds(60);
  };
  // `registry` is borrowed. `on_failure` gets why there was no answer, from a thread of its own.
  ApprovalAnswerer(
      approval::Registry* registry, std::unique_ptr<AnswerTransport> transport, Options options,
      std::function<void(const std::string& request_id, const std::string& why)> on_failure);

 private:
  struct Running {
    std::string request_id;
    std::chrono::steady_clock::time_point deadline;
    std::unique_ptr<AnswerRun> run;
  };

  void Watch(const std::stop_token& stop);
  void StartNew();
  bool Advance(Running& running);
  void Settle(const std::string& request_id, Result<approval::Answer> answer);
  void Wait();

  approval::Registry* const registry_;
  const std::unique_ptr<AnswerTransport> transport_;
  const Options options_;
  const std::function<void(const std::string&, const std::string&)> on_failure_;
  const std::shared_ptr<const UniqueFd> wake_;  // the registry may keep it for longer
  // Of the thread.
  uint64_t seen_ = 0;  // ordinal of the last question that was looked at
  std::vector<Running> running_;
  std::jthread thread_;
};

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_APPROVAL_ANSWERER_H_
