#include "supervisor/egress/credentials/provider_type.h"

namespace odyssey::egress::credentials {

const ProviderType* FindProviderType(std::string_view name) {
  static const std::vector<ProviderType> types = {
      {"generic", {}},
      {"anthropic", {"api.anthropic.com:443"}},
      {"aws", {"**.amazonaws.com:443"}},
      {"github", {"api.github.com:443", "github.com:443", "uploads.github.com:443"}},
      {"gitlab", {"gitlab.com:443"}},
      {"google", {"generativelanguage.googleapis.com:443"}},
      {"huggingface", {"huggingface.co:443", "router.huggingface.co:443"}},
      {"mistral", {"api.mistral.ai:443"}},
      {"nvidia", {"integrate.api.nvidia.com:443"}},
      {"openai", {"api.openai.com:443"}},
      {"openrouter", {"openrouter.ai:443"}},
  };
  for (const ProviderType& type : types) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

}  // namespace odyssey::egress::credentials
