#ifndef ODYSSEY_AGENTD_MODEL_MODEL_SOURCE_H_
#define ODYSSEY_AGENTD_MODEL_MODEL_SOURCE_H_

// Where model clients come from: the providers that this daemon has, as a seam.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "agentd/model/model_client.h"
#include "agentd/model/provider_client.h"
#include "agentd/provider/price_list.h"
#include "common/base/status.h"

namespace odyssey::model {

// An agent's choice of a model.
struct ModelChoice {
  std::string provider;
  std::string name;
  std::string config_json = "null";
  std::string bundle_directory;  // where files that `name` may mean are
};

class ModelSource {
 public:
  virtual ~ModelSource() = default;
  // INVALID_ARGUMENT: unknown provider, or something wrong in the choice; nothing has been called
  // then. Thread-safe.
  virtual Result<std::shared_ptr<ModelClient>> Open(const ModelChoice& choice) = 0;
  // What the operator has set; nullopt: nothing.
  virtual std::optional<provider::Price> PriceOf(const std::string& provider,
                                                 const std::string& name) const = 0;
};

// The operator's access, by the provider's name in the table.
using AccessTable = std::map<std::string, std::shared_ptr<const ProviderAccess>, std::less<>>;

// The rows of provider::kProviders. "script" plays a scenario of the bundle (docs/SCRIPT.md),
// "direct" makes the call that is the prompt (direct_client.h).
class Providers final : public ModelSource {
 public:
  explicit Providers(AccessTable access, provider::PriceList prices = {})
      : access_(std::move(access)), prices_(std::move(prices)) {}
  // For clients that are opened from now on.
  void Replace(AccessTable access, provider::PriceList prices);
  Result<std::shared_ptr<ModelClient>> Open(const ModelChoice& choice) override;
  std::optional<provider::Price> PriceOf(const std::string& provider,
                                         const std::string& name) const override;

 private:
  mutable std::mutex mutex_;  // guards what follows
  AccessTable access_;
  provider::PriceList prices_;
};

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_MODEL_SOURCE_H_
