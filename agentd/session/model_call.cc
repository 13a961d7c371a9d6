#include "agentd/session/model_call.h"

#include <chrono>
#include <utility>

#include "agentd/session/turn_trace.h"

namespace odyssey::session {
namespace {

using agent::v1::Usage;
using std::chrono::steady_clock;

std::string Describe(const Usage& usage, const Status& status) {
  std::string out = std::string(usage.estimated() ? "about " : "") +
                    std::to_string(usage.input_tokens()) + " tokens in, " +
                    std::to_string(usage.output_tokens()) + " out";
  if (usage.has_cost_microdollars()) {
    out += ", " + policy::FormatDollars(usage.cost_microdollars());
  }
  return status.ok() ? out : out + "; failed";
}

}  // namespace

ModelCallEnd CallModel(model::ModelClient* model, model::ModelRequest request, BudgetMeter* meter,
                       const model::ModelSink& sink, std::stop_token stop) {
  const steady_clock::time_point begun = steady_clock::now();
  const policy::Budget left = meter->Left(begun);
  request.max_answer_tokens =
      policy::Narrower({.tokens = request.max_answer_tokens}, {.tokens = left.tokens}).tokens;
  meter->BeginCall(request);
  const model::ModelSink counting = [&](model::ModelEvent event) {
    meter->OnEvent(event);
    return sink(std::move(event));
  };
  ModelCallEnd end;
  end.status = model->Stream(request, counting, std::move(stop));
  const Usage usage = meter->EndCall(end.status.ok());
  end.step.set_step(std::string(StepName(TurnStep::kModelCall)));
  end.step.set_duration_usec(static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - begun).count()));
  end.step.set_detail(Describe(usage, end.status));
  if (!end.status.ok()) end.step.set_failed(true);
  *end.step.mutable_usage() = usage;
  return end;
}

ModelCallEnd CallForText(model::ModelClient* model, const model::ModelRequest& request,
                         size_t most_bytes, BudgetMeter* meter, std::stop_token stop,
                         std::string* text) {
  const model::ModelSink sink = [&](const model::ModelEvent& event) {
    const auto* piece = std::get_if<model::TextDelta>(&event);
    if (piece != nullptr) *text += piece->text;
    return text->size() <= most_bytes ? OkStatus()
                                      : ResourceExhausted("the answer is longer than " +
                                                          std::to_string(most_bytes) + " bytes");
  };
  return CallModel(model, request, meter, sink, std::move(stop));
}

void AddUsage(const Usage& more, Usage* total) {
  total->set_input_tokens(total->input_tokens() + more.input_tokens());
  total->set_output_tokens(total->output_tokens() + more.output_tokens());
  total->set_cached_input_tokens(total->cached_input_tokens() + more.cached_input_tokens());
  total->set_reasoning_tokens(total->reasoning_tokens() + more.reasoning_tokens());
}

}  // namespace odyssey::session
