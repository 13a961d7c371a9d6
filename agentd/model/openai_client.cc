#include "agentd/model/openai_client.h"

#include <utility>

#include "agentd/model/http_stream.h"
#include "agentd/model/sse_parser.h"

namespace odyssey::model {
namespace {

class OpenAiClient final : public ModelClient {
 public:
  OpenAiClient(const OpenAiAccess* access, std::string model, ChatOptions options)
      : access_(access), model_(std::move(model)), options_(std::move(options)) {}

  Status Stream(const ModelRequest& request, const ModelSink& sink, std::stop_token stop) override {
    ChatStreamDecoder decoder;
    SseParser parser;
    const auto on_event = [&](std::string_view data) { return decoder.Push(data, sink); };

    const HttpPost post{access_->base_url + "/chat/completions",
                        EncodeChatRequest(model_, options_, request), &access_->key,
                        std::chrono::seconds(options_.timeout_seconds)};
    ODY_RETURN_IF_ERROR(PostAndStream(
        post, [&](std::string_view bytes) { return parser.Push(bytes, on_event); }, stop));
    ODY_RETURN_IF_ERROR(parser.Finish(on_event));
    return decoder.Finish(sink);
  }

 private:
  const OpenAiAccess* const access_;
  const std::string model_;
  const ChatOptions options_;
};

}  // namespace

std::unique_ptr<ModelClient> NewOpenAiClient(const OpenAiAccess* access, std::string model,
                                             ChatOptions options) {
  return std::make_unique<OpenAiClient>(access, std::move(model), std::move(options));
}

}  // namespace odyssey::model
