#include "supervisor/rpc/call_cell.h"

#include <vector>

#include "common/base/refusal.h"
#include "supervisor/rpc/cell_key.h"

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

CallCell::CallCell(EventLoop* loop, RootClient* root, const char* prefix, std::string name)
    : loop_(loop), root_(root), id_(RandomId(prefix)), name_(std::move(name)) {}

Result<std::unique_ptr<CallCell>> CallCell::Start(EventLoop* loop, RootClient* root,
                                                  plan::Plan plan, const char* prefix,
                                                  std::string name) {
  std::unique_ptr<CallCell> cell(new CallCell(loop, root, prefix, std::move(name)));
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
    return Unavailable(cell->name_ + " was not ready in time");
  }
  Launched result = answer.get();
  ODY_RETURN_IF_ERROR(result.status);
  cell->socket_ = std::move(result.socket);
  return cell;
}

CallCell::~CallCell() {
  if (!socket_) return;
  // The socket is open until it is gone: of a cell that has ended by itself root purges nothing.
  loop_->Post([root = root_, id = id_, purge = purge_] { (void)root->Kill(id, purge); });
  if (gone_.valid()) (void)gone_.wait_for(kEndTimeout);
}

Status CallCell::WhyGone() {
  const std::string ended = name_ + " ended";
  if (!gone_.valid() || gone_.wait_for(kReasonTimeout) != std::future_status::ready) {
    return Unavailable(name_ + " closed its stream");
  }
  const wire::Gone gone = gone_.get();
  const Status reason = gone.reason.ok() ? Unavailable("") : gone.reason;
  return reason.message().empty() ? WithMessage(ended, reason) : reason;
}

}  // namespace odyssey::supervisor
