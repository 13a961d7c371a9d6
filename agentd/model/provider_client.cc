#include "agentd/model/provider_client.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "agentd/model/answer_body.h"
#include "agentd/model/http_stream.h"
#include "common/base/refusal.h"

namespace odyssey::model {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Returns at once when `stop` is requested.
void Wait(milliseconds delay, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, stop, delay, [] { return false; });
}

// A provider, or a proxy before it, may quote the key in its error.
Status WithoutKey(const Status& status, const Secret& key) {
  if (status.ok() || key.empty()) return status;
  std::string message = status.message();
  bool found = false;
  for (size_t at = 0; (at = message.find(key.Reveal(), at)) != std::string::npos; found = true) {
    message.replace(at, key.Reveal().size(), "[key]");
  }
  return found ? WithMessage(std::move(message), status) : status;
}

class ProviderClient final : public ModelClient {
 public:
  ProviderClient(std::shared_ptr<const ProviderAccess> access, ModelTarget target,
                 milliseconds first_delay)
      : access_(std::move(access)),
        target_(std::move(target)),
        codec_(CodecOf(provider::ProtocolOf(*target_.provider, target_.config))),
        first_delay_(first_delay) {}

  uint64_t max_total_tokens() const override {
    return static_cast<uint64_t>(target_.config.Integer("max_total_tokens", 0));
  }

  Status Stream(const ModelRequest& request, const ModelSink& sink, std::stop_token stop) override {
    const HttpPost post = Post(request);
    milliseconds delay = first_delay_;
    for (long left = target_.config.Integer("max_retries", kDefaultRetries);; --left) {
      const Attempt attempt = Try(post, sink, stop);
      if (attempt.status.ok() || !attempt.may_repeat || left == 0 ||
          attempt.retry_after > kMaxRetryDelay) {
        return WithoutKey(attempt.status, access_->key);
      }
      Wait(std::max(delay, attempt.retry_after), stop);
      if (stop.stop_requested()) return Cancelled("the model call was cancelled");
      delay = std::min(delay * 2, kMaxRetryDelay);
    }
  }

 private:
  struct Attempt {
    Status status;
    bool may_repeat = false;
    milliseconds retry_after{0};
  };

  HttpPost Post(const ModelRequest& request) const {
    const provider::ModelConfig& config = target_.config;
    const auto bound = [&config](const char* key, long otherwise) {
      return seconds(config.Integer(key, otherwise));
    };
    HttpPost post;
    post.url = access_->base_url + codec_.path(target_);
    post.body = EncodeBody(codec_, target_, request);
    post.key = &access_->key;
    post.key_header = std::string(target_.provider->key_header) + ": " +
                      std::string(target_.provider->key_prefix);
    if (target_.provider->protocol == provider::kAnthropic) {
      post.headers.push_back("anthropic-version: 2023-06-01");
    }
    post.timeout = bound("timeout_seconds", 600);
    post.connect_timeout = bound("connect_timeout_seconds", 10);
    post.first_byte_timeout = bound("first_byte_timeout_seconds", 300);
    post.idle_timeout = bound("idle_timeout_seconds", 120);
    return post;
  }

  Attempt Try(const HttpPost& post, const ModelSink& sink, const std::stop_token& stop) const {
    bool delivered = false;
    const ModelSink counting = [&](ModelEvent event) {
      delivered = true;
      return sink(std::move(event));
    };
    const std::unique_ptr<StreamDecoder> decoder = codec_.decoder();
    AnswerBody body(decoder.get());
    const HttpEnd end = PostAndStream(
        post, [&](std::string_view bytes) { return body.Push(bytes, counting); }, stop);
    if (!end.status.ok()) return {end.status, end.may_repeat && !delivered, end.retry_after};
    return {body.Finish(counting)};
  }

  const std::shared_ptr<const ProviderAccess> access_;
  const ModelTarget target_;
  const ProtocolCodec& codec_;
  const milliseconds first_delay_;
};

}  // namespace

std::unique_ptr<ModelClient> NewProviderClient(std::shared_ptr<const ProviderAccess> access,
                                               ModelTarget target, milliseconds first_retry_delay) {
  return std::make_unique<ProviderClient>(std::move(access), std::move(target), first_retry_delay);
}

}  // namespace odyssey::model
