#include "supervisor/rpc/review_cell.h"

#include <errno.h>
#include <sys/socket.h>

#include <utility>

#include "common/base/refusal.h"
#include "common/os/message_socket.h"
#include "supervisor/rpc/cell_key.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::supervisor {
namespace {

constexpr auto kLaunchTimeout = std::chrono::seconds(20);
constexpr auto kEndTimeout = std::chrono::seconds(20);
constexpr auto kReasonTimeout = std::chrono::seconds(2);

struct Launched {
  Status status;
  UniqueFd socket;
};

}  // namespace

Result<std::unique_ptr<ReviewCell>> ReviewCell::Start(EventLoop* loop, RootClient* root,
                                                      plan::Plan plan, const review::Setup& setup) {
  std::unique_ptr<ReviewCell> cell(new ReviewCell(loop, root, RandomId("rev_")));
  plan.cell_id = cell->id_;
  const auto gone = std::make_shared<std::promise<wire::Gone>>();
  cell->gone_ = gone->get_future();
  const auto launched = std::make_shared<std::promise<Launched>>();
  auto answer = launched->get_future();
  ODY_RETURN_IF_ERROR(loop->Call([&] {
    root->NotifyGone(cell->id_, [gone](const wire::Gone& message) { gone->set_value(message); });
    return root->Launch(plan::EncodePlan(plan), [launched](const wire::Launched& message,
                                                           std::vector<UniqueFd> fds) {
      launched->set_value({message.status, fds.empty() ? UniqueFd() : std::move(fds[0])});
    });
  }));
  if (answer.wait_for(kLaunchTimeout) != std::future_status::ready) {
    return Unavailable("the review cell was not ready in time");
  }
  Launched result = answer.get();
  ODY_RETURN_IF_ERROR(result.status);
  cell->socket_ = std::move(result.socket);

  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "create a socket pair");
  }
  cell->stream_.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  const Status sent = SendMessage(cell->socket_.get(), review::Encode(setup), {theirs.get()});
  return sent.ok() ? Result<std::unique_ptr<ReviewCell>>(std::move(cell)) : cell->WhyGone();
}

ReviewCell::~ReviewCell() {
  // It ends by itself when its stream does.
  stream_.reset();
  if (!socket_) return;
  loop_->Post([root = root_, id = id_, purge = purge_] { (void)root->Kill(id, purge); });
  (void)gone_.wait_for(kEndTimeout);
}

// What root or the cell said last.
Status ReviewCell::WhyGone() {
  if (gone_.wait_for(kReasonTimeout) != std::future_status::ready) {
    return Unavailable("the review cell closed its stream");
  }
  const wire::Gone gone = gone_.get();
  const Status reason = gone.reason.ok() ? Unavailable("") : gone.reason;
  return reason.message().empty() ? WithMessage("the review cell ended", reason) : reason;
}

Result<review::End> ReviewCell::Ask(const review::Request& request, const Take& take) {
  Status status = tool::WriteFrame(stream_.get(), review::Encode(request));
  while (status.ok()) {
    const Result<std::string> frame = tool::ReadFrame(stream_.get());
    if (!frame.ok()) break;
    bool ended = false;
    review::Item item;
    review::End end;
    ODY_RETURN_IF_ERROR(review::Decode(*frame, &ended, &item, &end));
    if (ended) return end;
    ODY_RETURN_IF_ERROR(take(std::move(item)));
  }
  return WhyGone();
}

}  // namespace odyssey::supervisor
