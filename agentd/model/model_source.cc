#include "agentd/model/model_source.h"

#include <utility>

#include "agentd/model/script_client.h"
#include "common/os/file.h"
#include "policy/dialect/node.h"
#include "policy/dialect/project_root.h"

namespace odyssey::model {
namespace {

Result<std::shared_ptr<ModelClient>> OpenScript(const ModelChoice& choice) {
  if (choice.config_json != "null" && choice.config_json != "{}") {
    return InvalidArgument("model.config: provider script has no options");
  }
  const dialect::ProjectRoot root(choice.bundle_directory);
  ODY_ASSIGN_OR_RETURN(const std::string path,
                       root.Check("model.name", choice.name, dialect::Wanted::kFile));
  ODY_ASSIGN_OR_RETURN(const std::string text,
                       ReadFile(choice.bundle_directory + "/" + path, dialect::kMaxDocumentBytes));
  ODY_ASSIGN_OR_RETURN(Scenario scenario, ParseScenario(path, text));
  return std::shared_ptr<ModelClient>(NewScriptClient(std::move(scenario)));
}

}  // namespace

Result<std::shared_ptr<ModelClient>> Providers::Open(const ModelChoice& choice) {
  if (choice.provider == "script") return OpenScript(choice);
  if (choice.provider == "openai") {
    ODY_ASSIGN_OR_RETURN(ChatOptions options, ParseChatOptions(choice.config_json));
    return std::shared_ptr<ModelClient>(NewOpenAiClient(&access_, choice.name, std::move(options)));
  }
  return InvalidArgument("model.provider: " + choice.provider + ": allowed are script, openai");
}

}  // namespace odyssey::model
