#include "agentd/daemon/approval_answerer.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agentd/approval/command_answer.h"

namespace odyssey::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// At the same time; further questions wait for one of them to end.
constexpr size_t kMaxRunning = 16;
// How soon a question that was taken back is noticed.
constexpr int kTickMs = 200;

}  // namespace

ApprovalAnswerer::ApprovalAnswerer(
    approval::Registry* registry, std::unique_ptr<AnswerTransport> transport, Options options,
    std::function<void(const std::string& request_id, const std::string& why)> on_failure)
    : registry_(registry),
      transport_(std::move(transport)),
      options_(options),
      on_failure_(std::move(on_failure)),
      wake_(std::make_shared<const UniqueFd>(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
  ODY_CHECK(*wake_);
  thread_ = std::jthread([this](const std::stop_token& stop) { Watch(stop); });
}

void ApprovalAnswerer::Watch(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] { eventfd_write(wake_->get(), 1); });
  while (!stop.stop_requested()) {
    StartNew();
    std::erase_if(running_, [this](Running& running) { return !Advance(running); });
    Wait();
  }
  running_.clear();
}

void ApprovalAnswerer::StartNew() {
  const uint64_t latest = registry_->last_ordinal();
  for (const approval::Registry::Open& open : registry_->After(seen_, "")) {
    if (running_.size() >= kMaxRunning) return;
    seen_ = open.ordinal;
    const std::string& id = open.question.request().request_id();
    Result<std::unique_ptr<AnswerRun>> run =
        transport_->Start(approval::QuestionLine(open.question));
    if (run.ok()) {
      running_.push_back({id, Clock::now() + options_.timeout, *std::move(run)});
    } else {
      Settle(id, run.status());
    }
  }
  seen_ = std::max(seen_, latest);  // beyond those that were taken back
}

// False: it is over.
bool ApprovalAnswerer::Advance(Running& running) {
  if (!registry_->Find(running.request_id)) {
    running.run.reset();
    return false;
  }
  std::optional<Result<approval::Answer>> answer = running.run->Advance();
  if (!answer && Clock::now() >= running.deadline) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(options_.timeout).count();
    answer = InvalidArgument("no answer in " + std::to_string(seconds) + " s");
  }
  if (!answer) return true;
  running.run.reset();
  Settle(running.request_id, *std::move(answer));
  return false;
}

void ApprovalAnswerer::Settle(const std::string& request_id, Result<approval::Answer> answer) {
  const std::string name(transport_->name());
  const std::optional<approval::Question> question = registry_->Find(request_id);
  if (question && answer.ok()) {
    const Status fits = approval::CheckAnswer(question->request(), *answer);
    if (!fits.ok()) answer = fits;
  }
  if (!answer.ok()) {
    const std::string why =
        "the approval " + name + " gave no answer: " + answer.status().message();
    on_failure_(request_id, why);
    if (options_.fallback_ask) return;
    answer = approval::Answer{approval::Decision::kDeny, why};
  }
  answer->by_uid = getuid();
  answer->by = name;
  registry_->Resolve(request_id, *answer);
}

// Until a run or the registry has something, or the end is asked for.
void ApprovalAnswerer::Wait() {
  const auto wake = wake_;
  if (running_.empty() &&
      !registry_->NotifyAfter(seen_, [wake] { eventfd_write(wake->get(), 1); })) {
    return;
  }
  std::vector<pollfd> polled = {{wake_->get(), POLLIN, 0}};
  for (const Running& running : running_) running.run->AddPolled(&polled);
  (void)poll(polled.data(), polled.size(), running_.empty() ? -1 : kTickMs);
  eventfd_t count = 0;
  (void)eventfd_read(wake_->get(), &count);
}

}  // namespace odyssey::daemon
