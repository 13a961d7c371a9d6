#include "agentd/model/sse_parser.h"

#include <utility>

namespace odyssey::model {

Status SseParser::Push(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (line_.size() + data_.size() > kMaxSseEventBytes) {
      return ResourceExhausted("model stream: an event is larger than " +
                               std::to_string(kMaxSseEventBytes) + " bytes");
    }
    if (end == std::string_view::npos) return OkStatus();
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    ODY_RETURN_IF_ERROR(EndLine(sink));
  }
  return OkStatus();
}

Status SseParser::EndLine(const Sink& sink) {
  std::string line = std::exchange(line_, {});
  if (std::exchange(at_start_, false) && line.rfind("\xEF\xBB\xBF", 0) == 0) line.erase(0, 3);
  if (line.empty()) return Dispatch(sink);
  // Other fields (event, id, retry) and comments carry nothing that chat completions use.
  if (line != "data" && line.rfind("data:", 0) != 0) return OkStatus();
  if (has_data_) data_ += '\n';
  has_data_ = true;
  if (line.size() > 5) data_ += std::string_view(line).substr(line[5] == ' ' ? 6 : 5);
  return OkStatus();
}

Status SseParser::Dispatch(const Sink& sink) {
  if (!std::exchange(has_data_, false)) return OkStatus();
  return sink(std::exchange(data_, {}));
}

Status SseParser::Finish(const Sink& sink) {
  if (!line_.empty()) ODY_RETURN_IF_ERROR(EndLine(sink));
  return Dispatch(sink);
}

}  // namespace odyssey::model
