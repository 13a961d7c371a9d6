#ifndef ODYSSEY_AGENTD_PROVIDER_PROVIDER_TABLE_H_
#define ODYSSEY_AGENTD_PROVIDER_PROVIDER_TABLE_H_

// The model providers of this version, as data. `bundle validate`, agentd's environment and the
// clients iterate it. docs/MODELS.md has the same rows.

#include <array>
#include <cstdint>
#include <string_view>

namespace odyssey::provider {

// What a provider's server speaks. Bits: a configuration key names several.
enum Protocol : uint8_t {
  kScript = 1,     // none: a scenario of the bundle
  kChat = 2,       // OpenAI's chat completions
  kResponses = 4,  // OpenAI's responses
  kAnthropic = 8,  // Anthropic's messages
  kGemini = 16,    // Gemini's streamGenerateContent
  kDirect = 32,    // none: the prompt is a tool call
};

struct Provider {
  std::string_view name;
  std::string_view alias;  // a second name; "": none
  Protocol protocol = kChat;
  std::string_view base_url;   // "": the operator sets it
  std::string_view prefix;     // PREFIX_API_KEY, PREFIX_BASE_URL in agentd's environment
  std::string_view other_key;  // a second variable for the key
  std::string_view key_header = "Authorization";
  std::string_view key_prefix = "Bearer ";
  bool azure = false;      // api-version and deployment are in the address
  bool responses = false;  // model.config.api may be "responses"
  // Chat: the body's name of max_tokens.
  std::string_view max_tokens_field = "max_tokens";
};

inline constexpr std::array<Provider, 13> kProviders = {{
    {.name = "script", .protocol = kScript},
    {.name = "direct", .protocol = kDirect},
    {.name = "openai",
     .base_url = "https://api.openai.com/v1",
     .prefix = "OPENAI",
     .responses = true,
     .max_tokens_field = "max_completion_tokens"},
    {.name = "azure-openai",
     .prefix = "AZURE_OPENAI",
     .key_header = "api-key",
     .key_prefix = "",
     .azure = true,
     .max_tokens_field = "max_completion_tokens"},
    {.name = "deepseek", .base_url = "https://api.deepseek.com/v1", .prefix = "DEEPSEEK"},
    {.name = "groq", .base_url = "https://api.groq.com/openai/v1", .prefix = "GROQ"},
    {.name = "openrouter", .base_url = "https://openrouter.ai/api/v1", .prefix = "OPENROUTER"},
    {.name = "xai", .base_url = "https://api.x.ai/v1", .prefix = "XAI", .responses = true},
    {.name = "minimax", .base_url = "https://api.minimax.io/v1", .prefix = "MINIMAX"},
    {.name = "phind", .prefix = "PHIND"},
    {.name = "llama_cpp",
     .alias = "local",
     .base_url = "http://127.0.0.1:8080/v1",
     .prefix = "LLAMA_CPP"},
    {.name = "anthropic",
     .protocol = kAnthropic,
     .base_url = "https://api.anthropic.com/v1",
     .prefix = "ANTHROPIC",
     .key_header = "x-api-key",
     .key_prefix = ""},
    {.name = "google",
     .alias = "gemini",
     .protocol = kGemini,
     .base_url = "https://generativelanguage.googleapis.com/v1beta",
     .prefix = "GOOGLE",
     .other_key = "GEMINI_API_KEY",
     .key_header = "x-goog-api-key",
     .key_prefix = ""},
}};

// Whether it is called over a network: then it has an address and a key.
constexpr bool HasServer(const Provider& provider) { return !provider.prefix.empty(); }

}  // namespace odyssey::provider

#endif  // ODYSSEY_AGENTD_PROVIDER_PROVIDER_TABLE_H_
