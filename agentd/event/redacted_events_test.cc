#include "agentd/event/redacted_events.h"

#include <gtest/gtest.h>

#include "agentd/event/command_events.h"

namespace odyssey::event {
namespace {

TEST(RedactedEventsTest, OutputInPiecesLosesItsSecretsAndNothingElse) {
  const agent::Redactor redactor(std::map<std::string, std::string>{{"TOKEN", "hunter2-hunter2"}});
  RedactedEvents events(&redactor);
  const CommandId id{"trn_1", "exe_1"};
  std::string out, err;
  std::vector<agent::v1::Event> last;
  const auto record = [&](agent::v1::Event event) {
    last = events.Of(std::move(event));
    for (const agent::v1::Event& recorded : last) {
      if (!recorded.has_exec_command_output_delta()) continue;
      const auto& delta = recorded.exec_command_output_delta();
      EXPECT_EQ(delta.turn_id() + delta.exec_id(), "trn_1exe_1");
      (delta.stream() == "stdout" ? out : err) += delta.delta();
    }
  };
  record(CommandPrints(id, "stdout", "a hunter2-"));
  record(CommandPrints(id, "stderr", "b"));
  record(CommandPrints(id, "stdout", "hunter2 c"));
  record(CommandPrints(id, "stderr", " hunter2"));
  record(CommandEnds(id, 0, "exited"));
  EXPECT_EQ(out, "a [REDACTED:TOKEN] c");
  EXPECT_EQ(err, "b hunter2");
  EXPECT_TRUE(last.back().has_exec_command_end()) << "what was kept back comes before it";
}

}  // namespace
}  // namespace odyssey::event
