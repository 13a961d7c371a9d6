#ifndef ODYSSEY_AGENTD_MODEL_CHAT_COMPLETIONS_H_
#define ODYSSEY_AGENTD_MODEL_CHAT_COMPLETIONS_H_

// OpenAI chat completions, as many servers speak them. Pure.

#include "agentd/model/protocol_codec.h"

namespace odyssey::model {

extern const ProtocolCodec kChatCodec;

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_CHAT_COMPLETIONS_H_
