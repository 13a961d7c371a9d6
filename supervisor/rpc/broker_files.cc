// The broker's conversation with a cell's file worker.

#include <errno.h>
#include <sys/socket.h>

#include <utility>

#include "common/os/message_socket.h"
#include "supervisor/rpc/broker.h"
#include "supervisor/rpc/exec_denials.h"

namespace odyssey::supervisor {
namespace {

constexpr auto kToolsTimeout = std::chrono::seconds(10);

}  // namespace

Result<std::shared_ptr<UniqueFd>> Broker::AwaitTools(Lock& lock, const CellPtr& cell) {
  if (!cell->tools && !cell->tools_wanted) {
    const std::string want = cell::EncodeEmpty(cell::MessageType::kWantTools);
    ODY_RETURN_IF_ERROR(SendMessage(cell->socket.get(), want, {}, MSG_DONTWAIT));
    cell->tools_wanted = true;
  }
  changed_.wait_for(lock, kToolsTimeout, [&] {
    return cell->tools || !cell->tools_wanted || cell->state != CellState::kReady;
  });
  if (cell->tools) return cell->tools;
  if (!cell->tools_wanted && cell->state == CellState::kReady) return cell->tools_failure;
  return cell->failure.ok() ? Unavailable("the cell's file worker did not start") : cell->failure;
}

// Called with the lock. The next operation asks for another one.
void Broker::OnToolsFailed(Cell* cell, const cell::CellError& error) {
  cell->tools_wanted = false;
  cell->tools_failure =
      error.status.detail().error == EAGAIN
          ? ResourceExhausted(DescribeNeverForked(Known(*cell)))
          : Unavailable("the cell's file worker did not start: " + error.status.message());
  changed_.notify_all();
}

Result<tool::Response> Broker::Ask(const CellPtr& cell, const tool::Request& request) {
  std::shared_ptr<UniqueFd> tools;
  {
    Lock lock(mutex_);
    if (cell->state != CellState::kReady) return Unavailable("the cell ended");
    ODY_ASSIGN_OR_RETURN(tools, AwaitTools(lock, cell));
  }
  const std::lock_guard conversation(cell->tools_mutex);
  Status status = tool::WriteFrame(tools->get(), tool::Encode(request));
  tool::Response response;
  if (status.ok()) {
    const auto frame = tool::ReadFrame(tools->get());
    status = frame.ok() ? tool::Decode(*frame, &response) : frame.status();
  }
  if (status.ok() && !cell->compiled.unconfined) return response;
  // A broken conversation cannot be picked up: the next operation gets a new worker. On the host
  // each operation gets one, and the runner looks each time whether the user is still granted it.
  const Lock lock(mutex_);
  if (cell->tools == tools) {
    cell->tools.reset();
    cell->tools_wanted = false;
  }
  if (status.ok()) return response;
  return Unavailable("the cell's file worker ended: " + status.message());
}

}  // namespace odyssey::supervisor
