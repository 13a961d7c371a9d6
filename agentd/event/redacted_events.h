#ifndef ODYSSEY_AGENTD_EVENT_REDACTED_EVENTS_H_
#define ODYSSEY_AGENTD_EVENT_REDACTED_EVENTS_H_

// The events of a tool's commands without the secrets in their output. One object a tool call.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agentd/base/redactor.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::event {

class RedactedEvents final {
 public:
  explicit RedactedEvents(const agent::Redactor* redactor) : redactor_(redactor) {}  // borrowed

  // What is to be recorded for `event`, in order. The end of an output that may be a part of a
  // secret comes with a later event of its stream, at the latest before the command's end.
  std::vector<agent::v1::Event> Of(agent::v1::Event event);

 private:
  std::vector<agent::v1::Event> Rest(const agent::v1::ExecCommandEnd& end);

  const agent::Redactor* redactor_;
  std::map<std::pair<std::string, std::string>, agent::StreamRedactor> streams_;  // exec, stream
};

}  // namespace odyssey::event

#endif  // ODYSSEY_AGENTD_EVENT_REDACTED_EVENTS_H_
