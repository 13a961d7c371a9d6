#include "ctl/view/event_view.h"

#include <stdio.h>
#include <time.h>

#include <utility>
#include <vector>

#include "ctl/base/console.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"
#include "ctl/view/approval_view.h"
#include "ctl/view/change_view.h"
#include "ctl/view/denial_line.h"
#include "ctl/view/tool_text.h"

namespace odyssey::ctl {
namespace {

using agent::v1::Event;

constexpr char kIndent[] = "    ";

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::string Safe(std::string_view text) { return Sanitize(text, Lines::kOne); }

// Eight columns to a tab, as a terminal has them.
std::string WithoutTabs(std::string_view line) {
  constexpr size_t kTab = 8;
  std::string out;
  for (const char c : line) {
    c == '\t' ? out.append(kTab - out.size() % kTab, ' ') : out.append(1, c);
  }
  return out;
}

// "exit 3", or how it ended instead.
std::string DescribeEnd(const agent::v1::ExecCommandEnd& end) {
  if (end.outcome().empty() || end.outcome() == "exited") {
    return "exit " + std::to_string(end.exit_code());
  }
  std::string out = Safe(end.outcome());
  for (char& c : out) {
    if (c == '_') c = ' ';
  }
  return out;
}

}  // namespace

std::string EventView::Dimmed(std::string_view text) const {
  return Paint(text, Style::kDim, options_.color);
}

std::string EventView::CloseText() {
  stream_ = Stream::kNone;
  return std::exchange(at_line_start_, true) ? "" : "\n";
}

std::string EventView::Delta(Stream stream, const std::string& text) {
  if (text.empty()) return "";
  std::string out;
  if (stream_ != stream) out = CloseText();
  stream_ = stream;
  if (stream == Stream::kMessage) message_ += text;
  const std::string safe = Sanitize(text);
  at_line_start_ = safe.back() == '\n';
  return out + (stream == Stream::kReasoning ? Dimmed(safe) : safe);
}

std::string EventView::ToolStarted(const agent::v1::ToolCallStarted& call) {
  ++open_tools_;
  message_.clear();
  return CloseText() + Paint("→ " + Safe(call.tool_name()), Style::kBold, options_.color) + "  " +
         SummarizeCall(call.tool_name(), call.arguments_json(), options_.width) + "\n";
}

std::string EventView::ToolFinished(const agent::v1::ToolCallFinished& call) {
  if (open_tools_ > 0) --open_tools_;
  const std::string summary =
      SummarizeResult(call.result_json(), call.success(), options_.width * 3);
  std::string line = Paint(call.success() ? "✓" : "✗", call.success() ? Style::kGood : Style::kBad,
                           options_.color) +
                     " " + Safe(call.tool_name());
  if (!summary.empty()) line += "  " + summary;
  return CloseText() + line + "\n";
}

std::string EventView::CommandBegin(const Event& event) {
  const auto& begin = event.exec_command_begin();
  commands_[begin.exec_id()].begun_ms = ParseTimeMs(event.created_at());
  commands_[begin.exec_id()].job_id = begin.job_id();
  // The tool call before it has already said the command.
  if (open_tools_ > 0) return CloseText();
  const std::vector<std::string> argv(begin.command().begin(), begin.command().end());
  return CloseText() + "$ " + Shorten(Safe(JoinCommand(argv)), options_.width) + "\n";
}

std::string EventView::OutputLine(std::string_view line, CommandOutput* output) {
  const std::string shown = kIndent + Shorten(Safe(WithoutTabs(line)), options_.width);
  if (output->lines++ < options_.head_lines) return Dimmed(shown) + "\n";
  output->tail.push_back(shown);
  if (output->tail.size() > options_.tail_lines) output->tail.pop_front();
  return "";
}

std::string EventView::CommandDelta(const agent::v1::ExecCommandOutputDelta& delta) {
  // A line that never ends must not grow without bound; nothing past the width is shown anyway.
  static constexpr size_t kMaxPartial = 64 * 1024;
  CommandOutput& output = commands_[delta.exec_id()];
  std::string out = CloseText();
  std::string_view rest = delta.delta();
  for (size_t newline = rest.find('\n'); newline != std::string_view::npos;
       newline = rest.find('\n')) {
    output.partial += rest.substr(0, newline);
    if (!output.partial.empty() && output.partial.back() == '\r') output.partial.pop_back();
    out += OutputLine(output.partial, &output);
    output.partial.clear();
    rest.remove_prefix(newline + 1);
  }
  if (output.partial.size() < kMaxPartial) output.partial += rest;
  return out;
}

// What a command was refused is shown when all of its output has been.
std::string EventView::Denied(const supervisor::v1::Denial& denial) {
  const std::string line =
      kIndent + Paint("✗ " + DenialLine(denial), Style::kBad, options_.color) + "\n";
  const auto command = commands_.find(denial.exec_id());
  if (command == commands_.end()) return CloseText() + line;
  command->second.denials += line;
  return "";
}

// One that was refused is shown as a denial.
std::string EventView::Decided(const supervisor::v1::EgressDecision& decision) {
  if (decision.verdict() == supervisor::v1::EGRESS_VERDICT_DENIED) return "";
  const std::string request = decision.method().empty() ? "" : decision.method() + " ";
  const std::string place = decision.host() +
                            (decision.port() == 0 ? "" : ":" + std::to_string(decision.port())) +
                            decision.path();
  return CloseText() + Dimmed(kIndent + Safe("→ " + request + place)) + "\n";
}

std::string EventView::CommandEnd(const Event& event) {
  const auto& end = event.exec_command_end();
  CommandOutput output = std::move(commands_[end.exec_id()]);
  commands_.erase(end.exec_id());
  std::string out = CloseText();
  if (!output.partial.empty()) out += OutputLine(output.partial, &output);

  const size_t hidden =
      output.lines - std::min(output.lines, options_.head_lines + output.tail.size());
  if (hidden > 0) out += Dimmed(kIndent + ("… " + std::to_string(hidden)) + " more lines") + "\n";
  for (const std::string& line : output.tail) out += Dimmed(line) + "\n";
  out += output.denials;

  const bool good = end.exit_code() == 0;
  std::string line = kIndent + (output.job_id.empty() ? "" : Safe(output.job_id) + ": ") +
                     Paint(DescribeEnd(end), good ? Style::kGood : Style::kBad, options_.color);
  const uint64_t now = ParseTimeMs(event.created_at());
  if (output.begun_ms != 0 && now >= output.begun_ms) {
    line += Dimmed(" · " + FormatDurationMs(now - output.begun_ms));
  }
  line += Dimmed(" · " + std::to_string(output.lines) + (output.lines == 1 ? " line" : " lines"));
  return out + line + "\n";
}

namespace {

// What the person must know of how the answer ended; "" of one that is whole.
std::string_view CutWords(agent::v1::EndReason reason) {
  switch (reason) {
    case agent::v1::END_REASON_LENGTH:
      return "the answer is cut: it reached the limit of tokens";
    case agent::v1::END_REASON_FILTER:
      return "the answer is cut: the provider's content filter ended it";
    case agent::v1::END_REASON_REFUSAL:
      return "the model refused";
    case agent::v1::END_REASON_UNSPECIFIED:
      return "the provider ended the answer for a reason of its own";
    default:
      return "";
  }
}

}  // namespace

std::string EventView::Completed(const agent::v1::TurnCompleted& turn) {
  std::string out = CloseText();
  // A model that does not stream has said nothing yet.
  if (Trim(message_) != Trim(turn.message())) out += Sanitize(turn.message()) + "\n";
  message_.clear();
  const std::string_view cut = turn.has_end_reason() ? CutWords(turn.end_reason()) : "";
  if (cut.empty()) return out;
  const std::string words = turn.end_words().empty() ? "" : " (" + turn.end_words() + ")";
  return out + Paint("! " + Safe(std::string(cut) + words), Style::kWarn, options_.color) + "\n";
}

std::string EventView::Show(const Event& event) {
  switch (event.payload_case()) {
    case Event::kTurnStarted: {
      message_.clear();
      const auto& turn = event.turn_started();
      const bool unconfined = turn.sandbox_mode() == "danger_full_access";
      return CloseText() + Dimmed(Safe(turn.turn_id() + " · " + turn.sandbox_mode())) +
             (unconfined ? Paint(": UNCONFINED on the host", Style::kBad, options_.color) : "") +
             "\n";
    }
    case Event::kTurnCompleted:
      return Completed(event.turn_completed());
    case Event::kTurnFailed:
      return CloseText() +
             Paint(event.turn_failed().interrupted() ? "✗ turn interrupted: " : "✗ turn failed: ",
                   Style::kBad, options_.color) +
             Safe(event.turn_failed().message()) + "\n";
    case Event::kTurnCancelled:
      return CloseText() + Paint("✗ turn cancelled", Style::kWarn, options_.color) + "\n";
    case Event::kAgentMessageDelta:
      return Delta(Stream::kMessage, event.agent_message_delta().delta());
    case Event::kReasoningDelta:
      return Delta(Stream::kReasoning, event.reasoning_delta().delta());
    case Event::kReasoningSectionBreak:
      return CloseText();
    case Event::kToolCallStarted:
      return ToolStarted(event.tool_call_started());
    case Event::kToolCallFinished:
      return ToolFinished(event.tool_call_finished());
    case Event::kExecCommandBegin:
      return CommandBegin(event);
    case Event::kExecCommandOutputDelta:
      return CommandDelta(event.exec_command_output_delta());
    case Event::kExecCommandEnd:
      return CommandEnd(event);
    case Event::kAccessDenied:
      return Denied(event.access_denied().denial());
    case Event::kEgressDecided:
      return Decided(event.egress_decided().decision());
    case Event::kWorkspaceChanged:
      return CloseText() +
             Dimmed("∆ " + CountsText(event.workspace_changed().counts()) +
                    ": not in the host's directory yet") +
             "\n";
    case Event::kSessionForked: {
      const auto& forked = event.session_forked();
      return CloseText() +
             Dimmed("forked from " + Safe(forked.from_session_id()) + " with " +
                    std::to_string(forked.turns()) + (forked.turns() == 1 ? " turn" : " turns")) +
             "\n";
    }
    case Event::kWorkerStarted: {
      const auto& started = event.worker_started();
      return CloseText() + kIndent +
             Dimmed("worker " + Safe(started.worker()) + " works in " +
                    Safe(started.session_id())) +
             "\n";
    }
    case Event::kPermissionRequested:
      return CloseText() +
             FormatApproval(event.permission_requested(), Extent::kFolded, options_.color);
    case Event::kApprovalResolved:
      return CloseText() + kIndent + DescribeDecision(event.approval_resolved()) + "\n";
    case Event::kGrantEnded: {
      const auto& ended = event.grant_ended();
      return CloseText() +
             Dimmed("grant " + Safe(ended.request_id()) + " ended: " + Safe(ended.reason())) + "\n";
    }
    case Event::kError:  // the end of the turn, which follows, has the same message
      return CloseText();
    case Event::kTurnStep: {
      if (!options_.steps) return "";
      const auto& step = event.turn_step();
      return CloseText() + kIndent +
             Dimmed("· " + Safe(step.step()) + "  " + FormatDurationUsec(step.duration_usec()) +
                    (step.detail().empty() ? "" : "  " + Safe(step.detail()))) +
             "\n";
    }
    case Event::kHistorySummarized:
      return CloseText() + kIndent +
             Dimmed("the first " + std::to_string(event.history_summarized().messages()) +
                    " messages of the session are summarised") +
             "\n";
    case Event::kEventsRemoved: {
      const auto& removed = event.events_removed();
      return CloseText() +
             Dimmed("events " + std::to_string(removed.first_sequence()) + " to " +
                    std::to_string(removed.last_sequence()) +
                    " were removed: " + Safe(removed.reason())) +
             "\n";
    }
    case Event::PAYLOAD_NOT_SET:
      break;
  }
  return "";
}

uint64_t ParseTimeMs(const std::string& text) {
  tm parts{};
  int ms = 0;
  char zone = 0;
  if (sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3d%c", &parts.tm_year, &parts.tm_mon,
             &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &ms, &zone) != 8 ||
      zone != 'Z') {
    return 0;
  }
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  const time_t seconds = timegm(&parts);
  return seconds < 0 ? 0 : static_cast<uint64_t>(seconds) * 1000 + static_cast<uint64_t>(ms);
}

}  // namespace odyssey::ctl
