#include "agentd/model/script_client.h"

#include <algorithm>
#include <utility>

#include "agentd/model/scenario_player.h"
#include "common/base/utf8.h"

namespace odyssey::model {
namespace {

// Text is delivered in pieces, as from a model: whoever shows events sees it grow.
constexpr size_t kPieceBytes = 160;

// The turn so far: the last thing the user said, and the calls since then.
struct Turn {
  std::string prompt;
  std::vector<PlayedCall> calls;
};

Turn LatestTurn(const std::vector<Message>& messages) {
  Turn out;
  for (const Message& message : messages) {
    if (message.kind == MessageKind::kUser) out = {message.content, {}};
    if (message.kind != MessageKind::kToolResult) continue;
    for (const ToolUse& result : message.tools) out.calls.push_back({result.name, result.json});
  }
  return out;
}

template <typename Delta>
Status InPieces(const std::string& text, const ModelSink& sink) {
  for (std::string_view rest = text; !rest.empty();) {
    size_t length = std::min(rest.size(), kPieceBytes);
    if (length < rest.size()) length = CompleteUtf8Prefix(rest.substr(0, length));
    if (length == 0) length = 1;
    ODY_RETURN_IF_ERROR(sink(Delta{std::string(rest.substr(0, length))}));
    rest.remove_prefix(length);
  }
  return OkStatus();
}

Status Deliver(ModelEvent& event, const ModelSink& sink) {
  if (auto* text = std::get_if<TextDelta>(&event)) return InPieces<TextDelta>(text->text, sink);
  if (auto* text = std::get_if<ReasoningDelta>(&event)) {
    return InPieces<ReasoningDelta>(text->text, sink);
  }
  return sink(std::move(event));
}

class ScriptClient final : public ModelClient {
 public:
  explicit ScriptClient(scenario::Scenario scenario) : scenario_(std::move(scenario)) {}

  Status Stream(const ModelRequest& request, const ModelSink& sink, std::stop_token stop) override {
    const Turn turn = LatestTurn(request.messages);
    Played played = PlayScenario(scenario_, turn.prompt, turn.calls);
    for (ModelEvent& event : played.events) {
      if (stop.stop_requested()) return Cancelled("the model call was cancelled");
      ODY_RETURN_IF_ERROR(Deliver(event, sink));
    }
    if (!played.end.ok()) return played.end;
    ModelEnd end;
    end.usage = std::move(played.usage);
    return sink(std::move(end));
  }

 private:
  const scenario::Scenario scenario_;
};

}  // namespace

std::unique_ptr<ModelClient> NewScriptClient(scenario::Scenario scenario) {
  return std::make_unique<ScriptClient>(std::move(scenario));
}

}  // namespace odyssey::model
