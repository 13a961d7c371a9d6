#include "agentd/model/model_source.h"

#include <utility>

#include "agentd/model/direct_client.h"
#include "agentd/model/script_client.h"
#include "agentd/model/untrusted_results.h"
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

Result<std::shared_ptr<ModelClient>> OpenDirect(const provider::Provider& row,
                                                const ModelChoice& choice) {
  ODY_RETURN_IF_ERROR(provider::ParseModelConfig(row, choice.config_json).status());
  if (choice.name != kDirectName) {
    return Refused(Code::kInvalidArgument, "model.name", choice.name,
                   "of provider direct: allowed is " + std::string(kDirectName));
  }
  return std::shared_ptr<ModelClient>(NewDirectClient());
}

}  // namespace

Result<std::shared_ptr<ModelClient>> Providers::Open(const ModelChoice& choice) {
  ODY_ASSIGN_OR_RETURN(const provider::Provider* row, provider::FindProvider(choice.provider));
  if (row->protocol == provider::kScript) return OpenScript(choice);
  if (row->protocol == provider::kDirect) return OpenDirect(*row, choice);
  ODY_ASSIGN_OR_RETURN(provider::ModelConfig config,
                       provider::ParseModelConfig(*row, choice.config_json));
  std::shared_ptr<const ProviderAccess> access;
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = access_.find(row->name); it != access_.end()) access = it->second;
  }
  if (access == nullptr || access->base_url.empty()) {
    const std::string name(row->name);
    return Refused(Code::kFailedPrecondition, "model.provider", choice.provider,
                   "has no address; the operator gives odyssey-agentd --model-base-url " + name +
                       "=URL, or " + std::string(row->prefix) + "_BASE_URL in its environment");
  }
  return WithMarkedResults(
      NewProviderClient(std::move(access), {row, choice.name, std::move(config)}));
}

void Providers::Replace(AccessTable access, provider::PriceList prices) {
  const std::lock_guard lock(mutex_);
  access_ = std::move(access);
  prices_ = std::move(prices);
}

std::optional<provider::Price> Providers::PriceOf(const std::string& provider,
                                                  const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return prices_.Find(provider, name);
}

}  // namespace odyssey::model
