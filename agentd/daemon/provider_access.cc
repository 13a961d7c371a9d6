#include "agentd/daemon/provider_access.h"

#include <stdlib.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "agentd/model/http_stream.h"
#include "agentd/provider/provider_variables.h"
#include "common/os/file.h"

namespace odyssey::daemon {
namespace {

constexpr size_t kMaxKeyBytes = 8 * 1024;
constexpr size_t kMaxPricesBytes = 1024 * 1024;

std::string OptionOf(const std::map<std::string, std::string>& options, std::string_view provider) {
  const auto it = options.find(std::string(provider));
  return it == options.end() ? "" : it->second;
}

// The first variable of them that is set.
std::string FirstOf(const std::vector<std::string>& names, const ProviderEnvironment& environment) {
  for (const std::string& name : names) {
    const auto it = environment.variables.find(name);
    if (it != environment.variables.end() && !it->second.empty()) return it->second;
  }
  return "";
}

// The file that has the provider's key: of the option, or of the service manager's credentials.
// "": none.
std::string KeyFileOf(const provider::Provider& row, const Options& options,
                      const ProviderEnvironment& environment) {
  std::string file = OptionOf(options.model_key_files, row.name);
  if (!file.empty() || environment.credentials.empty()) return file;
  file = environment.credentials + "/model-key." + std::string(row.name);
  return access(file.c_str(), F_OK) == 0 ? file : "";
}

Result<model::Secret> KeyOf(const provider::Provider& row, const Options& options,
                            const ProviderEnvironment& environment) {
  std::string key = FirstOf(provider::VariablesOf(row).keys, environment);
  const std::string file = KeyFileOf(row, options, environment);
  if (!file.empty()) {
    ODY_ASSIGN_OR_RETURN(key, ReadFile(file, kMaxKeyBytes));
  }
  key.erase(key.find_last_not_of(" \t\r\n") + 1);
  if (key.find_first_of("\r\n") != std::string::npos) {
    return InvalidArgument("key of model provider " + std::string(row.name) + " " + file +
                           ": holds more than a key");
  }
  return model::Secret(std::move(key));
}

Result<model::ProviderAccess> AccessOf(const provider::Provider& row, const Options& options,
                                       const ProviderEnvironment& environment) {
  model::ProviderAccess out;
  out.base_url = OptionOf(options.model_base_urls, row.name);
  if (out.base_url.empty()) {
    out.base_url = FirstOf(provider::VariablesOf(row).addresses, environment);
  }
  if (out.base_url.empty()) out.base_url = row.base_url;
  ODY_ASSIGN_OR_RETURN(out.key, KeyOf(row, options, environment));
  if (out.base_url.empty()) return out;
  ODY_RETURN_IF_ERROR(model::CheckProviderUrl(out.base_url));
  while (out.base_url.back() == '/') out.base_url.pop_back();
  return out;
}

// A missing file has no prices.
Result<provider::PriceList> PricesOf(const Options& options) {
  const Result<std::string> text = ReadFile(options.prices, kMaxPricesBytes);
  if (text.status().code() == Code::kNotFound) return provider::PriceList();
  ODY_RETURN_IF_ERROR(text.status());
  return provider::ParsePrices(options.prices, *text);
}

}  // namespace

ProviderEnvironment TakeProviderEnvironment() {
  ProviderEnvironment out;
  if (const char* directory = getenv("CREDENTIALS_DIRECTORY")) out.credentials = directory;
  for (const provider::Provider& row : provider::kProviders) {
    const provider::Variables variables = provider::VariablesOf(row);
    for (const auto& names : {variables.keys, variables.addresses}) {
      for (const std::string& name : names) {
        if (const char* value = getenv(name.c_str())) out.variables[name] = value;
      }
    }
    // /proc/PID/environ of a later look does not matter, what is passed on does.
    for (const std::string& name : variables.keys) unsetenv(name.c_str());
  }
  return out;
}

Result<ModelAccess> ReadModelAccess(const Options& options,
                                    const ProviderEnvironment& environment) {
  ModelAccess out;
  for (const provider::Provider& row : provider::kProviders) {
    if (!provider::HasServer(row)) continue;
    ODY_ASSIGN_OR_RETURN(model::ProviderAccess access, AccessOf(row, options, environment));
    out.access.emplace(row.name, std::make_shared<const model::ProviderAccess>(std::move(access)));
  }
  ODY_ASSIGN_OR_RETURN(out.prices, PricesOf(options));
  return out;
}

}  // namespace odyssey::daemon
