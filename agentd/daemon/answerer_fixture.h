#ifndef ODYSSEY_AGENTD_DAEMON_ANSWERER_FIXTURE_H_
#define ODYSSEY_AGENTD_DAEMON_ANSWERER_FIXTURE_H_

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <future>
#include <memory>

#include "agentd/approval/registry.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::daemon {

// A registry whose questions an ApprovalAnswerer of the test answers.
class AnswererTest : public ::testing::Test {
 protected:
  static constexpr std::chrono::seconds kHang{20};

  static void SetUpTestSuite() { signal(SIGPIPE, SIG_IGN); }

  std::future<approval::Answer> Add(const approval::Question& question) {
    const auto promise = std::make_shared<std::promise<approval::Answer>>();
    registry_.Add(question,
                  [promise](const approval::Answer& answer) { promise->set_value(answer); });
    return promise->get_future();
  }
  approval::Answer Get(std::future<approval::Answer> answer) {
    if (answer.wait_for(kHang) == std::future_status::ready) return answer.get();
    ADD_FAILURE() << "no answer";
    return {};
  }

  fakes::TemporaryDirectory directory_;
  approval::Registry registry_;
};

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_ANSWERER_FIXTURE_H_
