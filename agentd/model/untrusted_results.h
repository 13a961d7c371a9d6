#ifndef ODYSSEY_AGENTD_MODEL_UNTRUSTED_RESULTS_H_
#define ODYSSEY_AGENTD_MODEL_UNTRUSTED_RESULTS_H_

// Marks the results of tools, and what stands for earlier messages, as content that is not to be
// obeyed, in what a provider is sent. The journal, the record and clients keep them as they are.

#include <memory>
#include <string>

#include "agentd/model/model_client.h"

namespace odyssey::model {

// `request` with each tool result between <untrusted_content_NONCE source="TOOL"> and
// </untrusted_content_NONCE>, likewise `earlier` at the beginning of the first message, and a
// sentence in `system` that says what it means. NONCE is a hash over `key`, the call's id and the
// content: content that does not know `key` cannot hold the closing tag, and an unchanged message
// stays so in the next request. Pure.
ModelRequest MarkUntrusted(ModelRequest request, const std::string& key);

// Streams from `inner` what MarkUntrusted makes, with a random key.
std::shared_ptr<ModelClient> WithMarkedResults(std::unique_ptr<ModelClient> inner);

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_UNTRUSTED_RESULTS_H_
