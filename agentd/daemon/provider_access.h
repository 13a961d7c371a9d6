#ifndef ODYSSEY_AGENTD_DAEMON_PROVIDER_ACCESS_H_
#define ODYSSEY_AGENTD_DAEMON_PROVIDER_ACCESS_H_

// The operator's keys, addresses and prices of model providers, from options, files, the
// environment and the service manager's credentials.

#include <map>
#include <string>

#include "agentd/daemon/options.h"
#include "agentd/model/model_source.h"
#include "agentd/provider/price_list.h"
#include "common/base/status.h"

namespace odyssey::daemon {

struct ProviderEnvironment {
  std::map<std::string, std::string> variables;  // those of providers
  std::string credentials;                       // a directory with model-key.PROVIDER; "": none
};

// At the start, before there are threads: keys leave the environment.
ProviderEnvironment TakeProviderEnvironment();

struct ModelAccess {
  model::AccessTable access;
  provider::PriceList prices;
};

// Reads the files. An error names the provider, or the file and its line.
Result<ModelAccess> ReadModelAccess(const Options& options, const ProviderEnvironment& environment);

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_PROVIDER_ACCESS_H_
