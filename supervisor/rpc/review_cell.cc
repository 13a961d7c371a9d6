#include "supervisor/rpc/review_cell.h"

#include <errno.h>
#include <sys/socket.h>

#include <string>

#include "common/os/message_socket.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::supervisor {

Result<std::unique_ptr<ReviewCell>> ReviewCell::Start(EventLoop* loop, RootClient* root,
                                                      plan::Plan plan, const review::Setup& setup) {
  ODY_ASSIGN_OR_RETURN(std::unique_ptr<CallCell> cell,
                       CallCell::Start(loop, root, std::move(plan), "rev_", "the review cell"));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "create a socket pair");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const Status sent = SendMessage(cell->socket(), review::Encode(setup), {theirs.get()});
  if (!sent.ok()) return cell->WhyGone();
  return std::unique_ptr<ReviewCell>(new ReviewCell(std::move(cell), std::move(ours)));
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
  return cell_->WhyGone();
}

Status StatusOf(const Result<review::End>& end) {
  if (!end.ok()) return end.status();
  return end->code == Code::kOk ? OkStatus() : Status(end->code, end->error);
}

}  // namespace odyssey::supervisor
