// Reads any bytes as what a model provider streams, cut in two places: the parser of server-sent
// events and the decoder of chat completion chunks behind it.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agentd/model/chat_completions.h"
#include "agentd/model/sse_parser.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace model = odyssey::model;
  if (size < 2) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t cut = data[0] % stream.size();

  model::ChatStreamDecoder decoder;
  model::SseParser parser;
  const model::ModelSink sink = [](model::ModelEvent) { return odyssey::OkStatus(); };
  const auto on_event = [&](std::string_view event) { return decoder.Push(event, sink); };
  for (const std::string_view piece : {stream.substr(0, cut), stream.substr(cut)}) {
    if (!parser.Push(piece, on_event).ok()) return 0;
  }
  if (parser.Finish(on_event).ok()) (void)decoder.Finish(sink);
  return 0;
}
