#ifndef ODYSSEY_AGENTD_TURN_TURN_MACHINE_H_
#define ODYSSEY_AGENTD_TURN_TURN_MACHINE_H_

// One turn: model calls and tool calls until the model has nothing more to call. Pure.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agentd/approval/gate.h"
#include "agentd/model/chat.h"
#include "agentd/model/model_client.h"
#include "common/base/status.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::turn {

// Model calls of one turn; after them it fails. A model that goes in circles ends here.
inline constexpr uint32_t kMaxModelCalls = 100;

struct Call {
  std::string id;  // ours, stable
  std::string tool;
  std::string arguments_json;  // canonical
  friend bool operator==(const Call&, const Call&) = default;
};

enum class Ending { kCompleted, kFailed, kCancelled, kInterrupted };

// What to do, in order. After CallModel, Authorize, Ask, RunTool and ResumeResult the machine waits
// for the matching On… method.
struct Emit {
  agent::v1::Event event;  // its payload; the journal sets the rest
  bool durable = false;
  friend bool operator==(const Emit& a, const Emit& b);
};
struct CallModel {
  friend bool operator==(const CallModel&, const CallModel&) = default;
};
struct Authorize {
  Call call;
  friend bool operator==(const Authorize&, const Authorize&) = default;
};
struct Ask {
  std::string request_id;
  Call call;
  std::string rule, scope;
  rules::RiskClass risk = rules::RiskClass::kSafe;
  friend bool operator==(const Ask&, const Ask&) = default;
};
struct RunTool {
  Call call;
  friend bool operator==(const RunTool&, const RunTool&) = default;
};
// A person has answered what AskBeforeResult asked.
struct ResumeResult {
  bool allowed = false;
  std::string note;
  friend bool operator==(const ResumeResult&, const ResumeResult&) = default;
};
struct Finish {
  Ending ending = Ending::kCompleted;
  std::string message;  // the assistant's last message, or why the turn ended
  friend bool operator==(const Finish&, const Finish&) = default;
};
using Effect = std::variant<Emit, CallModel, Authorize, Ask, RunTool, ResumeResult, Finish>;
using Effects = std::vector<Effect>;

// A person's answer to Ask.
struct Answered {
  bool allowed = false;
  std::string decision;  // as the event names it
  std::string note;
  uint32_t by_uid = 0;
  std::string by = "client";
  // How far the request's grants reach; nothing: it has none, or is denied.
  std::optional<agent::v1::GrantScope> grant_scope;
  std::string grants_expire_at;  // empty: with the session, or the call
};

class TurnMachine final {
 public:
  // `new_id("tcl")` makes identifiers.
  TurnMachine(std::string turn_id, std::string prompt,
              std::function<std::string(std::string_view)> new_id,
              uint32_t max_model_calls = kMaxModelCalls);

  Effects Start();
  Effects OnModelEvent(const model::ModelEvent& event);
  Effects OnModelEnd(const Status& status);
  Effects OnVerdict(const approval::Verdict& verdict);
  // The arguments are wrong, or there is no such tool: the result without running anything.
  // Also the normal end of RunTool.
  Effects OnToolResult(const std::string& result_json, bool success);
  // In place of OnToolResult after RunTool and ResumeResult: the call has run, and a person is
  // asked what its cell gets before the result is given. `rule` is the one that asks.
  Effects AskBeforeResult(const std::string& rule);
  Effects OnAnswer(const Answered& answer);
  // Ends the turn from outside, whatever it waits for: kCancelled, kInterrupted, or kFailed.
  Effects Stop(Ending ending, const std::string& message);

  // Adds to the event of the turn's completion how the last answer ended and what the turn used.
  void DescribeEnd(agent::v1::TurnCompleted* completed) const;

  // This turn's part of the conversation, the user's message first.
  const std::vector<model::Message>& messages() const { return messages_; }

 private:
  // Events about the turn's calls.
  agent::v1::Event Started(const Call& call) const;
  agent::v1::Event Finished(const Call& call, const std::string& result_json, bool success) const;
  agent::v1::Event Resolved(const Answered& answer) const;

  Effects NextCall();
  Effects CallModelAgain();
  void EndReasoning(Effects* out);
  void RecordModelEnd(const model::ModelEnd& end);
  void FlushAssistantMessage();
  void RecordResult(const Call& call, const std::string& result_json, bool success, Effects* out);

  const std::string turn_id_;
  const std::function<std::string(std::string_view)> new_id_;
  const uint32_t max_model_calls_;

  std::vector<model::Message> messages_;
  uint32_t model_calls_ = 0;
  bool finished_ = false;
  bool answering_ = false;  // between CallModel and OnModelEnd
  std::string text_;
  std::optional<model::ModelEnd> end_;  // of the latest answer
  agent::v1::Usage usage_;              // of all answers
  bool reasoning_ = false;
  std::vector<Call> calls_;  // of the latest answer
  size_t next_call_ = 0;     // the first that has no result
  bool started_ = false;     // whether its ToolCallStarted went out
  bool has_run_ = false;     // the question is one of AskBeforeResult
  approval::Verdict asked_;
  std::string request_id_;
};

}  // namespace odyssey::turn

#endif  // ODYSSEY_AGENTD_TURN_TURN_MACHINE_H_
