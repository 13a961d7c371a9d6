#ifndef ODYSSEY_AGENTD_MODEL_PROTOCOL_CODEC_H_
#define ODYSSEY_AGENTD_MODEL_PROTOCOL_CODEC_H_

// The seam of the providers' protocols: a request's body, and the reading of a streamed answer.
// Pure.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "agentd/model/model_client.h"
#include "agentd/provider/model_config.h"

namespace odyssey::model {

// What a request is made of, beside the conversation. `provider` is a row of the table.
struct ModelTarget {
  const provider::Provider* provider = nullptr;
  std::string model;
  provider::ModelConfig config;
};

// Reads one answer. A whole answer in place of a stream is one event.
class StreamDecoder {
 public:
  virtual ~StreamDecoder() = default;
  // `data` of one event. UNAVAILABLE: the provider reports an error. INTERNAL: it is not the
  // protocol's JSON. Events that the protocol does not know are skipped.
  virtual Status Push(std::string_view data, const ModelSink& sink) = 0;
  // The stream has ended. UNAVAILABLE if the answer was cut off or is none.
  virtual Status Finish(const ModelSink& sink) = 0;
};

struct ProtocolCodec {
  // Relative to the base URL; begins with '/'.
  std::string (*path)(const ModelTarget&);
  nlohmann::json (*encode)(const ModelTarget&, const ModelRequest&);
  std::unique_ptr<StreamDecoder> (*decoder)();
};

// Of a provider with a server.
const ProtocolCodec& CodecOf(provider::Protocol protocol);

// Every model can write an answer of so many tokens: a higher bound is not sent where the
// configuration has none, since a provider refuses one that is more than its model writes.
inline constexpr long kEveryModelWrites = 4096;

// The body's text: `encode` with the fields of extra_body. max_answer_tokens of the request lowers
// max_tokens of the configuration, down to what the reasoning takes and one more.
std::string EncodeBody(const ProtocolCodec& codec, const ModelTarget& target,
                       const ModelRequest& request);

// One segment of a URL's path.
std::string EscapeSegment(std::string_view text);

// Copies the configuration's values that are set: {key, the body's field}.
void CopyConfig(const provider::ModelConfig& config,
                std::initializer_list<std::pair<const char*, std::string_view>> fields,
                nlohmann::json* body);

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_PROTOCOL_CODEC_H_
