#include "ctl/image/image_puller.h"

#include <pthread.h>
#include <signal.h>

#include "ctl/base/signal_fd.h"
#include "ctl/image/image_pull.h"
#include "ctl/image/image_report.h"
#include "ctl/image/image_signals.h"
#include "ctl/image/registry_reference.h"
#include "odyssey/supervisor/v1/image.stub.h"

namespace odyssey::ctl {

bool ImagePuller::MayPull(const std::string& reference) const {
  return when_ == PullWhen::kMissing && ParseRegistryReference(reference, "", Transport::kTls).ok();
}

Status ImagePuller::Pull(const std::string& reference) {
  ODY_ASSIGN_OR_RETURN(const PullOptions options, PullOptionsFor(reference, owner_));
  sigset_t before;
  ODY_CHECK(pthread_sigmask(SIG_SETMASK, nullptr, &before) == 0);
  const UniqueFd signals = MakeSignalFd(ImageSignals());
  std::string advice;
  const Status status = FetchImage(console_, client_, signals.get(), options, &advice).status();
  if (status.ok()) {
    ODY_CHECK(pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
    return OkStatus();
  }
  next_ = NextStepOf(status, advice);
  // The advice is in options of another command.
  if (next_.find("--") != std::string::npos) {
    next_ += " odyssey-ctl image pull " + reference + " takes the option.";
  }
  const Failure failure = client_.Explain("", InWords(status, {{"name", reference}}));
  if (next_.empty()) next_ = failure.next;
  return Status(status.code(), "pull: " + failure.why);
}

Status ImagePuller::PullIfMissing(const std::string& reference) {
  if (!MayPull(reference)) return OkStatus();
  supervisor::v1::InspectImageRequest request;
  request.set_owner_uid(owner_);
  request.set_reference(reference);
  supervisor::v1::InspectImageResponse response;
  const supervisor::v1::ImagesStub stub(client_.channel());
  const Status found = stub.InspectImage({kQuickCallMs}, request, &response);
  return found.code() == Code::kNotFound ? Pull(reference) : OkStatus();
}

}  // namespace odyssey::ctl
