#ifndef ODYSSEY_CTL_VIEW_EVENT_VIEW_H_
#define ODYSSEY_CTL_VIEW_EVENT_VIEW_H_

// A session's events as text for a person. Pure: event in, text out; nothing an agent or a command
// wrote reaches the text unsanitised.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::ctl {

struct EventViewOptions {
  bool color = false;
  size_t width = 100;     // characters of one line of a command or its output; the rest is cut
  size_t head_lines = 8;  // of a command's output, shown as they come
  size_t tail_lines = 3;  // shown at its end, with a count of those between
  bool steps = false;     // of turns
};

class EventView final {
 public:
  explicit EventView(EventViewOptions options) : options_(options) {}

  // Text to append to what was shown so far; may be empty.
  std::string Show(const agent::v1::Event& event);
  // A newline if what was shown last is an unfinished line: before text of another source.
  std::string FinishLine() { return CloseText(); }
  // What was shown last ends with a newline.
  bool at_line_start() const { return at_line_start_; }

 private:
  struct CommandOutput {
    uint64_t begun_ms = 0;
    std::string job_id;  // of a background job
    std::string partial;
    size_t lines = 0;
    std::deque<std::string> tail;  // of the lines after the head
    std::string denials;           // as they will be shown
  };
  enum class Stream { kNone, kMessage, kReasoning };

  std::string Delta(Stream stream, const std::string& text);
  std::string CloseText();
  std::string Denied(const supervisor::v1::Denial& denial);
  std::string Decided(const supervisor::v1::EgressDecision& decision);
  std::string ToolStarted(const agent::v1::ToolCallStarted& call);
  std::string ToolFinished(const agent::v1::ToolCallFinished& call);
  std::string CommandBegin(const agent::v1::Event& event);
  std::string CommandDelta(const agent::v1::ExecCommandOutputDelta& delta);
  std::string CommandEnd(const agent::v1::Event& event);
  std::string OutputLine(std::string_view line, CommandOutput* output);
  std::string Completed(const agent::v1::TurnCompleted& turn);
  std::string Dimmed(std::string_view text) const;

  EventViewOptions options_;
  Stream stream_ = Stream::kNone;
  bool at_line_start_ = true;
  std::string message_;  // the assistant's text since the last tool call
  size_t open_tools_ = 0;
  std::map<std::string, CommandOutput> commands_;
};

// Milliseconds since the epoch of "2026-01-02T03:04:05.678Z"; 0 if it is not of that form.
uint64_t ParseTimeMs(const std::string& text);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_VIEW_EVENT_VIEW_H_
