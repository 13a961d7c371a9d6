#include "agentd/provider/bundle_models.h"

#include "agentd/provider/model_config.h"
#include "common/base/refusal.h"

namespace odyssey::provider {
namespace {

Status CheckModel(const dialect::ModelSpec& model) {
  ODY_ASSIGN_OR_RETURN(const Provider* provider, FindProvider(model.provider));
  if (!HasServer(*provider)) return OkStatus();
  return ParseModelConfig(*provider, model.config).status();
}

// Where the agent's file says it: a key of model.config has the place of the whole.
dialect::Problem ProblemOf(const dialect::AgentSpec& agent, const Status& status) {
  const std::string& field = status.detail().field;
  dialect::Problem problem{.file = agent.path, .key = field};
  const dialect::Place* place = agent.origins.Find(field);
  if (place == nullptr) place = agent.origins.Find("model.config");
  if (place != nullptr) {
    problem.file = place->file;
    problem.line = place->line;
  }
  problem.message = WhyRefused(status);
  return problem;
}

}  // namespace

dialect::Problems ValidateModels(const dialect::Bundle& bundle) {
  dialect::Problems problems;
  for (const dialect::AgentSpec& agent : bundle.agents) {
    if (agent.model.provider.find_first_not_of(" \t\r\n") == std::string::npos) continue;
    const Status status = CheckModel(agent.model);
    if (!status.ok()) problems.push_back(ProblemOf(agent, status));
  }
  return problems;
}

}  // namespace odyssey::provider
