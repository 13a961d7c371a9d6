#ifndef ODYSSEY_AGENTD_EVENT_EVENT_H_
#define ODYSSEY_AGENTD_EVENT_EVENT_H_

// What happens in a session, as values. Names and fields are those of event.proto.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "agentd/base/change_counts.h"
#include "agentd/base/denial.h"

namespace odyssey::event {

struct TurnStarted {
  std::string turn_id, prompt, sandbox_mode;
  friend bool operator==(const TurnStarted&, const TurnStarted&) = default;
};
struct TurnCompleted {
  std::string turn_id, message;
  friend bool operator==(const TurnCompleted&, const TurnCompleted&) = default;
};
struct TurnFailed {
  std::string turn_id, message;
  bool interrupted = false;
  friend bool operator==(const TurnFailed&, const TurnFailed&) = default;
};
struct TurnCancelled {
  std::string turn_id;
  friend bool operator==(const TurnCancelled&, const TurnCancelled&) = default;
};
struct AgentMessageDelta {
  std::string turn_id, delta;
  friend bool operator==(const AgentMessageDelta&, const AgentMessageDelta&) = default;
};
struct ReasoningDelta {
  std::string turn_id, delta;
  friend bool operator==(const ReasoningDelta&, const ReasoningDelta&) = default;
};
struct ReasoningSectionBreak {
  std::string turn_id;
  friend bool operator==(const ReasoningSectionBreak&, const ReasoningSectionBreak&) = default;
};
struct ToolCallStarted {
  std::string turn_id, tool_call_id, tool_name;
  std::string arguments_json;  // a JSON value as text
  friend bool operator==(const ToolCallStarted&, const ToolCallStarted&) = default;
};
struct ToolCallFinished {
  std::string turn_id, tool_call_id, tool_name;
  std::string result_json;  // a JSON object as text
  bool success = false;
  friend bool operator==(const ToolCallFinished&, const ToolCallFinished&) = default;
};
struct ExecCommandBegin {
  std::string turn_id, exec_id;
  std::vector<std::string> command;
  std::string cwd;
  friend bool operator==(const ExecCommandBegin&, const ExecCommandBegin&) = default;
};
struct ExecCommandOutputDelta {
  std::string turn_id, exec_id, stream, delta;
  friend bool operator==(const ExecCommandOutputDelta&, const ExecCommandOutputDelta&) = default;
};
struct ExecCommandEnd {
  std::string turn_id, exec_id;
  int32_t exit_code = -1;
  std::string outcome;
  friend bool operator==(const ExecCommandEnd&, const ExecCommandEnd&) = default;
};
struct AccessDenied {
  std::string turn_id, tool_call_id;
  agent::Denial denial;
  friend bool operator==(const AccessDenied&, const AccessDenied&) = default;
};
struct WorkspaceChanged {
  std::string turn_id;
  agent::ChangeCounts counts;
  friend bool operator==(const WorkspaceChanged&, const WorkspaceChanged&) = default;
};
struct SessionForked {
  std::string from_session_id;
  uint64_t at_sequence = 0;
  uint32_t turns = 0;
  friend bool operator==(const SessionForked&, const SessionForked&) = default;
};
struct PermissionRequested {
  std::string turn_id, request_id, tool_name, rule;
  std::string arguments_json;  // exactly what will be executed, a JSON object as text
  std::string cwd;
  std::string scope;  // what "always" would allow
  std::string diff;   // what a tool that writes a file would change in it; may be empty
  friend bool operator==(const PermissionRequested&, const PermissionRequested&) = default;
};
struct ApprovalResolved {
  std::string turn_id, request_id, decision;
  uint32_t by_uid = 0;
  friend bool operator==(const ApprovalResolved&, const ApprovalResolved&) = default;
};
struct Error {
  std::string turn_id, message;
  friend bool operator==(const Error&, const Error&) = default;
};

using Payload =
    std::variant<TurnStarted, TurnCompleted, TurnFailed, TurnCancelled, AgentMessageDelta,
                 ReasoningDelta, ReasoningSectionBreak, ToolCallStarted, ToolCallFinished,
                 ExecCommandBegin, ExecCommandOutputDelta, ExecCommandEnd, PermissionRequested,
                 ApprovalResolved, Error, AccessDenied, WorkspaceChanged, SessionForked>;

struct Event {
  std::string id;
  std::string session_id;
  uint64_t sequence = 0;  // from 1, without gaps
  std::string created_at;
  Payload payload;
  friend bool operator==(const Event&, const Event&) = default;
};

}  // namespace odyssey::event

#endif  // ODYSSEY_AGENTD_EVENT_EVENT_H_
