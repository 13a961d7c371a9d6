#ifndef ODYSSEY_AGENTD_EVENT_COMMAND_OUTPUT_H_
#define ODYSSEY_AGENTD_EVENT_COMMAND_OUTPUT_H_

#include <string>
#include <string_view>

#include "common/base/utf8.h"

namespace odyssey::event {

// One stream of a running command as events tell it: text, however its bytes were cut.
class CommandOutput final {
 public:
  explicit CommandOutput(const char* name) : name_(name) {}  // "stdout" or "stderr"

  const char* name() const { return name_; }
  // The text that `data` completes.
  std::string Push(std::string_view data) { return decoder_.Push(data); }
  // What ends it. A character that a cap cut in two is left out; one that the command itself did
  // not finish is shown as broken.
  std::string End(bool truncated) const {
    if (truncated) return "\n...[" + std::string(name_) + " truncated by sandbox]";
    return decoder_.incomplete() ? "\xEF\xBF\xBD" : "";
  }

 private:
  const char* name_;
  Utf8Stream decoder_;
};

}  // namespace odyssey::event

#endif  // ODYSSEY_AGENTD_EVENT_COMMAND_OUTPUT_H_
