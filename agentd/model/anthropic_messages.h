#ifndef ODYSSEY_AGENTD_MODEL_ANTHROPIC_MESSAGES_H_
#define ODYSSEY_AGENTD_MODEL_ANTHROPIC_MESSAGES_H_

// Anthropic messages. Pure.

#include "agentd/model/protocol_codec.h"

namespace odyssey::model {

extern const ProtocolCodec kAnthropicCodec;

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_ANTHROPIC_MESSAGES_H_
