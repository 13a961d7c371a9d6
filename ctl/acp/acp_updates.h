#ifndef ODYSSEY_CTL_ACP_ACP_UPDATES_H_
#define ODYSSEY_CTL_ACP_ACP_UPDATES_H_

// A session's events as updates of the Agent Client Protocol, version 1 (session/update), and
// requests for approval as its requests for permission. Pure.

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::ctl {

using Json = nlohmann::ordered_json;

// How a turn that completed ended: StopReason.
std::string_view StopReasonOf(const agent::v1::TurnCompleted& completed);

enum class Prompts {
  kHide,  // the client has shown what it sent
  kShow,
};

class AcpUpdates final {
 public:
  // `cwd`: the host's directory that the bundle's mount "." is.
  explicit AcpUpdates(std::string cwd) : cwd_(std::move(cwd)) {}

  // The updates that an event means, in their order; none of most.
  std::vector<Json> Map(const agent::v1::Event& event, Prompts prompts);

  // `toolCall` and `options` of session/request_permission. The text has all that the question on a
  // terminal has.
  Json ToolCallOf(const agent::v1::PermissionRequested& request) const;
  static Json OptionsOf(const agent::v1::PermissionRequested& request);

 private:
  struct Call {
    std::string tool;
    std::string arguments_json;
    std::string text;  // what its command has written, and what was refused
    size_t sent = 0;   // bytes of `text` when it was sent last
  };

  Json Started(const agent::v1::ToolCallStarted& started);
  Json Finished(const agent::v1::ToolCallFinished& finished);
  // Adds to the text of the call; the update that shows it, if it has grown by enough.
  std::vector<Json> Append(const std::string& tool_call_id, std::string_view text);
  // The host's path for a path in the cell; "": no mount of the host has it.
  std::string HostPath(const std::string& cell_path) const;
  Json Locations(const std::string& arguments_json) const;
  Json Diffs(const std::string& tool, const std::string& arguments_json) const;

  const std::string cwd_;
  std::map<std::string, Call> calls_;            // that have not ended, by tool_call_id
  std::string current_;                          // the call that was started last
  std::map<std::string, std::string> commands_;  // exec_id → tool_call_id
  bool streamed_ = false;                        // the model's last message
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_ACP_ACP_UPDATES_H_
