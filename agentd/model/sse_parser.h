#ifndef ODYSSEY_AGENTD_MODEL_SSE_PARSER_H_
#define ODYSSEY_AGENTD_MODEL_SSE_PARSER_H_

// Server-sent events from a byte stream that is cut anywhere. Pure.

#include <functional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::model {

// Most bytes of one event. A provider that sends more is broken or hostile.
inline constexpr size_t kMaxSseEventBytes = 4 * 1024 * 1024;

class SseParser final {
 public:
  // Gets the `data` of one event: its data lines, joined by newlines.
  using Sink = std::function<Status(std::string_view data)>;

  // RESOURCE_EXHAUSTED: an event is too large. An error of the sink is returned at once. After an
  // error the parser must not be used again.
  Status Push(std::string_view bytes, const Sink& sink);

  // The stream has ended: an event that was not closed by an empty line is delivered too, because
  // some providers leave out the last one.
  Status Finish(const Sink& sink);

 private:
  Status EndLine(const Sink& sink);
  Status Dispatch(const Sink& sink);

  std::string line_;
  std::string data_;
  bool has_data_ = false;
  bool after_cr_ = false;  // a \n that follows belongs to the same line end
  bool at_start_ = true;   // where a byte order mark may stand
};

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_SSE_PARSER_H_
