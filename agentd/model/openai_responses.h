#ifndef ODYSSEY_AGENTD_MODEL_OPENAI_RESPONSES_H_
#define ODYSSEY_AGENTD_MODEL_OPENAI_RESPONSES_H_

// OpenAI responses. Pure.

#include "agentd/model/protocol_codec.h"

namespace odyssey::model {

extern const ProtocolCodec kResponsesCodec;

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_OPENAI_RESPONSES_H_
