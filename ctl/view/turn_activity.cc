#include "ctl/view/turn_activity.h"

#include "ctl/base/units.h"
#include "ctl/view/tool_text.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kCallWidth = 40;  // characters of a call's arguments
constexpr char kGap[] = "  ";

std::string Seconds(uint64_t ms) {
  return ms < 60'000 ? std::to_string(ms / 1000) + " s" : FormatDurationMs(ms);
}

}  // namespace

void TurnActivity::Begin(Phase phase, uint64_t now_ms) {
  phase_ = phase;
  step_ms_ = now_ms;
  output_bytes_ = 0;
}

void TurnActivity::See(const agent::v1::Event& event, uint64_t now_ms) {
  if (event.has_turn_started()) {
    begun_ms_ = now_ms;
    open_calls_.clear();
    calls_ = 0;
    Begin(Phase::kModel, now_ms);
  } else if (event.has_tool_call_started()) {
    const auto& call = event.tool_call_started();
    const std::string what = SummarizeCall(call.tool_name(), call.arguments_json(), kCallWidth);
    open_calls_[call.tool_call_id()] = call.tool_name() + " " + what;
    newest_call_ = call.tool_call_id();
    ++calls_;
    Begin(Phase::kTools, now_ms);
  } else if (event.has_tool_call_finished()) {
    open_calls_.erase(event.tool_call_finished().tool_call_id());
    if (open_calls_.empty()) {
      Begin(Phase::kModel, now_ms);
    } else {
      newest_call_ = open_calls_.rbegin()->first;
    }
  } else if (event.has_exec_command_output_delta()) {
    output_bytes_ += event.exec_command_output_delta().delta().size();
  }
}

std::string TurnActivity::Text(uint64_t now_ms) const {
  std::string text = Seconds(now_ms - begun_ms_) + kGap;
  if (phase_ == Phase::kQueued) return text + "the turn waits to begin";
  if (phase_ == Phase::kModel) {
    text += "the model works";
  } else {
    text += open_calls_.at(newest_call_);
    if (open_calls_.size() > 1) text += " and " + std::to_string(open_calls_.size() - 1) + " more";
  }
  text += kGap + Seconds(now_ms - step_ms_);
  if (output_bytes_ > 0) text += ", " + FormatSize(output_bytes_) + " of output";
  if (calls_ > 0) {
    text += kGap + ("(" + std::to_string(calls_)) + (calls_ == 1 ? " tool call)" : " tool calls)");
  }
  return text;
}

}  // namespace odyssey::ctl
