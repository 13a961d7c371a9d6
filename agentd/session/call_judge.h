#ifndef ODYSSEY_AGENTD_SESSION_CALL_JUDGE_H_
#define ODYSSEY_AGENTD_SESSION_CALL_JUDGE_H_

// What the rules say about a turn's calls, one after the other: those of the agent and of the
// agents that called it, about the call, about the file that its path leads to through links, and
// about what it asks to be granted. Runs nothing. One thread at a time.

#include <memory>
#include <string>
#include <vector>

#include "agentd/approval/gate.h"
#include "agentd/session/granted_cell.h"
#include "agentd/session/runtime.h"
#include "agentd/session/turn_setup.h"
#include "agentd/session/turn_tools.h"
#include "agentd/tool/tool.h"
#include "agentd/turn/turn_machine.h"
#include "common/base/status.h"

namespace odyssey::session {

class CallJudge final {
 public:
  // `runtime`, `cell`, in which the calls run, and `tools` are borrowed.
  CallJudge(std::string session_id, const Runtime* runtime, const GrantedCell* cell,
            const TurnTools* tools)
      : session_id_(std::move(session_id)), runtime_(runtime), cell_(cell), tools_(tools) {}

  // Before everything else: whose rules.
  void Use(std::shared_ptr<const TurnSetup> setup) { setup_ = std::move(setup); }

  // Of the next call. An error: it is neither asked about nor run, and the error is its result.
  Result<approval::Verdict> Judge(const turn::Call& call);
  // The call found when it ran, before it did anything, that its path leads to another file: the
  // rules judge that too. PERMISSION_DENIED: it does so each time.
  Result<approval::Verdict> JudgeDetour(const turn::Call& call, std::string leads_to);

  // Of the call that was judged last.
  // Where its path leads, absolute and without links; "": no link is known in it.
  const std::string& leads_to() const { return leads_to_; }
  bool is_detour() const { return detours_ != 0; }
  // What the session does not have of what it asks for.
  const tools::GrantRequest& wanted() const { return wanted_; }

  // Whether a rule keeps the agent from reading the path.
  bool IsHidden(const std::string& path) const;

 private:
  Result<approval::Verdict> JudgeOnce(const turn::Call& call);
  Result<approval::Verdict> JudgeCall(const turn::Call& call);
  Status Decide(const turn::Call& call, const rules::ToolCall& terms,
                std::vector<rules::Decision>* out) const;
  Result<rules::Decision> DecideUnder(const rules::ToolRules& rules, const turn::Call& call,
                                      const rules::ToolCall& terms) const;
  approval::Verdict Strictest(const std::vector<rules::Decision>& decisions) const;
  std::string EndOfLinks(const turn::Call& call) const;

  const std::string session_id_;
  const Runtime* const runtime_;
  const GrantedCell* const cell_;
  const TurnTools* const tools_;
  std::shared_ptr<const TurnSetup> setup_;
  std::string leads_to_;
  int detours_ = 0;  // how often the path was found to lead elsewhere
  tools::GrantRequest wanted_;
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_CALL_JUDGE_H_
