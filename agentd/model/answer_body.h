#ifndef ODYSSEY_AGENTD_MODEL_ANSWER_BODY_H_
#define ODYSSEY_AGENTD_MODEL_ANSWER_BODY_H_

// The body of a provider's answer: server-sent events, or one JSON value where a stream was asked
// for. Pure.

#include <string>
#include <string_view>

#include "agentd/model/protocol_codec.h"
#include "agentd/model/sse_parser.h"

namespace odyssey::model {

// Most bytes of an answer that is not streamed.
inline constexpr size_t kMaxWholeBytes = 16 * 1024 * 1024;

class AnswerBody final {
 public:
  // `decoder` is borrowed. After an error the object must not be used again.
  explicit AnswerBody(StreamDecoder* decoder) : decoder_(decoder) {}

  Status Push(std::string_view bytes, const ModelSink& sink);
  // The body has ended. UNAVAILABLE, with the beginning of it, if it holds no event.
  Status Finish(const ModelSink& sink);

 private:
  enum class Form { kUnknown, kEvents, kWhole };

  Status PushWhole(const ModelSink& sink);

  StreamDecoder* const decoder_;
  Form form_ = Form::kUnknown;
  SseParser parser_;
  std::string whole_;
  std::string beginning_;
  bool has_event_ = false;
};

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_ANSWER_BODY_H_
