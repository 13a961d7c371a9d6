#include "agentd/model/direct_client.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "agentd/base/json_text.h"

namespace odyssey::model {
namespace {

Result<ToolUse> ReadCall(const std::string& prompt) {
  const Status wrong =
      InvalidArgument(R"(prompt: provider direct expects {"tool": NAME, "arguments": {…}})");
  // It bounds the nesting, which dump() needs.
  const Result<std::string> object = agent::CanonicalObject(prompt);
  if (!object.ok()) return wrong;
  const auto call = nlohmann::json::parse(*object, nullptr, /*allow_exceptions=*/false);
  if (call.size() != 2) return wrong;
  const auto tool = call.find("tool");
  const auto arguments = call.find("arguments");
  if (tool == call.end() || !tool->is_string()) return wrong;
  if (arguments == call.end() || !arguments->is_object()) return wrong;
  return ToolUse{"call", tool->get<std::string>(), arguments->dump()};
}

class DirectClient final : public ModelClient {
 public:
  Status Stream(const ModelRequest& request, const ModelSink& sink, std::stop_token) override {
    ModelEnd end;
    if (request.messages.back().kind == MessageKind::kUser) {
      ODY_ASSIGN_OR_RETURN(ToolUse call, ReadCall(request.messages.back().content));
      ODY_RETURN_IF_ERROR(sink(std::move(call)));
      end.reason = agent::v1::END_REASON_TOOL_CALLS;
    }
    return sink(std::move(end));
  }
};

}  // namespace

std::unique_ptr<ModelClient> NewDirectClient() { return std::make_unique<DirectClient>(); }

}  // namespace odyssey::model
