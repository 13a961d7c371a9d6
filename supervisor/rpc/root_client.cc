#include "supervisor/rpc/root_client.h"

#include <poll.h>

#include <utility>

namespace odyssey::supervisor {
namespace {

// Takes the callback of a request out of its table; empty if there is none.
template <typename Key, typename Callback>
Callback TakeCallback(std::map<Key, Callback>* table, const Key& request) {
  auto node = table->extract(request);
  return node.empty() ? Callback() : std::move(node.mapped());
}

}  // namespace

Result<wire::Hello> RootClient::ReceiveHello() {
  ODY_ASSIGN_OR_RETURN(const Message message, ReceiveMessage(socket_.get()));
  wire::Hello hello;
  ODY_RETURN_IF_ERROR(wire::Decode(message.bytes, &hello));
  return hello;
}

Status RootClient::SendReady() { return SendMessage(socket_.get(), wire::EncodeReady()); }

void RootClient::NotifyGone(const std::string& cell_id, GoneCallback callback) {
  gone_[cell_id] = std::move(callback);
}

Status RootClient::Launch(const std::string& plan, LaunchedCallback callback) {
  const wire::Launch launch{.request = next_request_++, .plan = plan};
  launches_[launch.request] = std::move(callback);
  return SendMessage(socket_.get(), wire::Encode(launch));
}

Status RootClient::Kill(const std::string& cell_id, bool purge) {
  return SendMessage(socket_.get(), wire::Encode(wire::Kill{.cell_id = cell_id, .purge = purge}));
}

Status RootClient::AskStats(const std::string& cell_id, StatsCallback callback) {
  const wire::Stats stats{.request = next_request_++, .cell_id = cell_id};
  stats_[stats.request] = std::move(callback);
  return SendMessage(socket_.get(), wire::Encode(stats));
}

// Root closes its half of the socket when it stops; the kernel closes both halves of one that died.
bool RootClient::IsStopped() const {
  pollfd polled{socket_.get(), POLLRDHUP, 0};
  return poll(&polled, 1, 0) == 1 && (polled.revents & (POLLRDHUP | POLLHUP)) == POLLRDHUP;
}

Status RootClient::ReadOne() {
  Result<Message> received = ReceiveMessage(socket_.get());
  if (!received.ok() && IsStopped()) return Cancelled("the supervisor was stopped");
  ODY_ASSIGN_OR_RETURN(Message message, std::move(received));
  ODY_ASSIGN_OR_RETURN(const wire::RootMessage type, wire::TypeOf(message.bytes));
  switch (type) {
    case wire::RootMessage::kLaunched:
      return HandleLaunched(std::move(message));
    case wire::RootMessage::kStatsReply:
      return HandleStats(message);
    case wire::RootMessage::kGone:
      return HandleGone(message);
    default:
      return InvalidArgument("unexpected message from root");
  }
}

Status RootClient::HandleLaunched(Message message) {
  wire::Launched launched;
  ODY_RETURN_IF_ERROR(wire::Decode(message.bytes, &launched));
  const auto callback = TakeCallback(&launches_, launched.request);
  if (callback) callback(launched, std::move(message.fds));
  return OkStatus();
}

Status RootClient::HandleGone(const Message& message) {
  wire::Gone gone;
  ODY_RETURN_IF_ERROR(wire::Decode(message.bytes, &gone));
  const auto callback = TakeCallback(&gone_, gone.cell_id);
  callback ? callback(gone) : on_gone_(gone);
  return OkStatus();
}

Status RootClient::HandleStats(const Message& message) {
  wire::StatsReply reply;
  ODY_RETURN_IF_ERROR(wire::Decode(message.bytes, &reply));
  const auto callback = TakeCallback(&stats_, reply.request);
  if (callback) callback(reply);
  return OkStatus();
}

}  // namespace odyssey::supervisor
