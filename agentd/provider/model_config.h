#ifndef ODYSSEY_AGENTD_PROVIDER_MODEL_CONFIG_H_
#define ODYSSEY_AGENTD_PROVIDER_MODEL_CONFIG_H_

// `model.provider` and `model.config` of an agent, checked. Pure. `bundle validate` and the
// creation of a session use the same tables.

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "agentd/provider/provider_table.h"
#include "common/base/status.h"

namespace odyssey::provider {

enum class KeyKind { kInteger, kNumber, kBool, kWord, kText, kObject };

struct ConfigKey {
  std::string_view name;  // in snake case; camel case is read too
  KeyKind kind = KeyKind::kInteger;
  uint8_t protocols = 0;
  double low = 0, high = 0;     // of numbers
  std::string_view words = "";  // of a word, separated by ", "
};

inline constexpr uint8_t kOpenAi = kChat | kResponses;
inline constexpr uint8_t kEvery = kOpenAi | kAnthropic | kGemini;

inline constexpr std::array<ConfigKey, 17> kConfigKeys = {{
    {"api", KeyKind::kWord, kOpenAi, 0, 0, "chat, responses"},
    {"api_version", KeyKind::kText, kChat},
    {"connect_timeout_seconds", KeyKind::kInteger, kEvery, 1, 600},
    {"deployment_id", KeyKind::kText, kChat},
    {"enable_parallel_tool_use", KeyKind::kBool, kOpenAi | kAnthropic},
    {"extra_body", KeyKind::kObject, kEvery},
    {"first_byte_timeout_seconds", KeyKind::kInteger, kEvery, 1, 3600},
    {"idle_timeout_seconds", KeyKind::kInteger, kEvery, 1, 3600},
    {"max_retries", KeyKind::kInteger, kEvery, 0, 10},
    {"max_tokens", KeyKind::kInteger, kEvery, 1, 10'000'000},
    {"max_total_tokens", KeyKind::kInteger, kEvery, 1, 1'000'000'000},
    {"reasoning_budget_tokens", KeyKind::kInteger, kAnthropic | kGemini, 0, 1'000'000},
    {"reasoning_effort", KeyKind::kWord, kOpenAi, 0, 0, "low, medium, high"},
    {"temperature", KeyKind::kNumber, kEvery, 0, 2},
    {"timeout_seconds", KeyKind::kInteger, kEvery, 1, 3600},
    {"top_k", KeyKind::kInteger, kAnthropic | kGemini, 1, 1000},
    {"top_p", KeyKind::kNumber, kEvery, 0, 1},
}};

// The values that are set, by snake-case key: JSON text of the type that the key's row names.
struct ModelConfig {
  std::map<std::string, std::string, std::less<>> values;

  bool Has(std::string_view key) const { return values.find(key) != values.end(); }
  // The JSON text; "null" if it is not set.
  std::string Json(std::string_view key) const;
  // Of an integer key.
  long Integer(std::string_view key, long otherwise) const;
  // Of a word or text key; "" if it is not set.
  std::string Text(std::string_view key) const;
};

// By name or alias. INVALID_ARGUMENT about "model.provider" lists the names.
Result<const Provider*> FindProvider(std::string_view name);

// What the provider's server is spoken to in: `api` may choose.
Protocol ProtocolOf(const Provider& provider, const ModelConfig& config);

// `config_json` is JSON text; "null": nothing is set. INVALID_ARGUMENT names the key, the value and
// what is allowed. Keys and addresses are the operator's: api_key and base_url are refused.
Result<ModelConfig> ParseModelConfig(const Provider& provider, const std::string& config_json);

}  // namespace odyssey::provider

#endif  // ODYSSEY_AGENTD_PROVIDER_MODEL_CONFIG_H_
