#include "agentd/model/model_source.h"

#include <utility>

#include "agentd/model/script_client.h"
#include "agentd/scenario/bundle_scenarios.h"
#include "common/base/refusal.h"

namespace odyssey::model {
namespace {

Result<std::shared_ptr<ModelClient>> OpenScript(const ModelChoice& choice) {
  ODY_ASSIGN_OR_RETURN(scenario::Scenario scenario,
                       scenario::LoadScenario(choice.bundle_directory,
                                              {choice.provider, choice.name, choice.config_json}));
  return std::shared_ptr<ModelClient>(NewScriptClient(std::move(scenario)));
}

}  // namespace

Result<std::shared_ptr<ModelClient>> Providers::Open(const ModelChoice& choice) {
  if (choice.provider == scenario::kProvider) return OpenScript(choice);
  if (choice.provider == "openai") {
    ODY_ASSIGN_OR_RETURN(ChatOptions options, ParseChatOptions(choice.config_json));
    return std::shared_ptr<ModelClient>(NewOpenAiClient(&access_, choice.name, std::move(options)));
  }
  return Refused(Code::kInvalidArgument, "model.provider", choice.provider,
                 "allowed are script, openai", "script, openai");
}

}  // namespace odyssey::model
