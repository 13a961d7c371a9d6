#ifndef ODYSSEY_TESTS_FAKES_FAKE_MODEL_H_
#define ODYSSEY_TESTS_FAKES_FAKE_MODEL_H_

// A model that does what a test's function says, and a source that gives it for every choice.
// Thread-safe.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "agentd/model/model_source.h"

namespace odyssey::fakes {

class FakeModelClient final : public model::ModelClient {
 public:
  using Function =
      std::function<Status(const model::ModelRequest&, const model::ModelSink&, std::stop_token)>;

  explicit FakeModelClient(Function function) : function_(std::move(function)) {}

  Status Stream(const model::ModelRequest& request, const model::ModelSink& sink,
                std::stop_token stop) override {
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    return function_(request, sink, stop);
  }

  std::vector<model::ModelRequest> requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  const Function function_;
  std::mutex mutex_;
  std::vector<model::ModelRequest> requests_;
};

class FakeModelSource final : public model::ModelSource {
 public:
  explicit FakeModelSource(std::shared_ptr<model::ModelClient> client)
      : client_(std::move(client)) {}
  Result<std::shared_ptr<model::ModelClient>> Open(const model::ModelChoice&) override {
    ++opened_;
    return client_;
  }
  std::optional<provider::Price> PriceOf(const std::string&, const std::string&) const override {
    return price;
  }
  int opened() const { return opened_; }

  std::optional<provider::Price> price;  // of every model

 private:
  const std::shared_ptr<model::ModelClient> client_;
  std::atomic<int> opened_ = 0;
};

// Says the text and nothing else.
inline Status Say(const model::ModelSink& sink, const std::string& text) {
  return sink(model::TextDelta{text});
}

// The prompt of the turn that a request is for.
inline std::string PromptOf(const model::ModelRequest& request) {
  std::string out;
  for (const model::Message& message : request.messages) {
    if (message.kind == model::MessageKind::kUser) out = message.content;
  }
  return out;
}

// Calls `tool` with `arguments` once in each turn, then says the result.
inline FakeModelClient::Function CallOnce(std::string tool, std::string arguments) {
  return [=](const model::ModelRequest& request, const model::ModelSink& sink, std::stop_token) {
    const model::Message& last = request.messages.back();
    if (last.kind == model::MessageKind::kToolResult) return Say(sink, last.tools[0].json);
    return sink(model::ToolUse{"c", tool, arguments});
  };
}

// Calls Bash once for each line of the prompt, which has the arguments, then says the last result.
inline Status CallBash(const model::ModelRequest& request, const model::ModelSink& sink,
                       std::stop_token) {
  std::istringstream calls(PromptOf(request));
  std::string call;
  std::getline(calls, call);
  for (auto it = request.messages.rbegin(); it->kind != model::MessageKind::kUser; ++it) {
    if (it->kind != model::MessageKind::kToolResult || std::getline(calls, call)) continue;
    return Say(sink, request.messages.back().tools[0].json);
  }
  return sink(model::ToolUse{"c", "Bash", call});
}

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_FAKE_MODEL_H_
