#ifndef ODYSSEY_AGENTD_MODEL_GEMINI_CONTENT_H_
#define ODYSSEY_AGENTD_MODEL_GEMINI_CONTENT_H_

// Gemini streamGenerateContent. Pure.

#include "agentd/model/protocol_codec.h"

namespace odyssey::model {

extern const ProtocolCodec kGeminiCodec;

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_GEMINI_CONTENT_H_
