// Reads any bytes as what a model provider streams, cut in two places, with the decoder of each
// protocol.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agentd/model/answer_body.h"

namespace {

void Read(odyssey::provider::Protocol protocol, std::string_view stream, size_t cut) {
  namespace model = odyssey::model;
  const auto decoder = model::CodecOf(protocol).decoder();
  model::AnswerBody body(decoder.get());
  const model::ModelSink sink = [](model::ModelEvent) { return odyssey::OkStatus(); };
  for (const std::string_view piece : {stream.substr(0, cut), stream.substr(cut)}) {
    if (!body.Push(piece, sink).ok()) return;
  }
  (void)body.Finish(sink);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace provider = odyssey::provider;
  if (size < 2) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (const auto protocol :
       {provider::kChat, provider::kResponses, provider::kAnthropic, provider::kGemini}) {
    Read(protocol, stream, data[0] % stream.size());
  }
  return 0;
}
