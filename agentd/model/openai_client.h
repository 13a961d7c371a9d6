#ifndef ODYSSEY_AGENTD_MODEL_OPENAI_CLIENT_H_
#define ODYSSEY_AGENTD_MODEL_OPENAI_CLIENT_H_

// The provider "openai": any server that speaks OpenAI's chat completions.

#include <memory>
#include <string>

#include "agentd/model/chat_completions.h"
#include "agentd/model/model_client.h"
#include "agentd/model/secret.h"

namespace odyssey::model {

// The operator's part: where the provider is and the key for it. Never a bundle's.
struct OpenAiAccess {
  std::string base_url = "https://api.openai.com/v1";
  Secret key;  // empty: none is sent
};

// `access` must outlive the client.
std::unique_ptr<ModelClient> NewOpenAiClient(const OpenAiAccess* access, std::string model,
                                             ChatOptions options);

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_OPENAI_CLIENT_H_
