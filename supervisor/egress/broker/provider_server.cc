#include "supervisor/egress/broker/provider_server.h"

#include <errno.h>
#include <sys/socket.h>
#include <time.h>

#include <chrono>
#include <memory>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "supervisor/egress/link/link.h"

namespace odyssey::egress {
namespace {

using provider_wire::MessageType;

constexpr unsigned kMaxClients = 64;
constexpr auto kClientTime = std::chrono::seconds(30);
constexpr auto kAcceptPause = std::chrono::milliseconds(50);

Result<uid_t> PeerOf(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) return peer.uid;
  return ErrnoStatus(errno, "ask who connects");
}

Result<uid_t> OwnerOf(uid_t peer, uint32_t named) {
  if (named == provider_wire::kPeer || named == peer) return peer;
  if (peer == 0) return static_cast<uid_t>(named);
  return PermissionDenied("only root names another user");
}

}  // namespace

ProviderServer::ProviderServer(asio::io_context* loop, ProviderStore* store,
                               std::function<void(uid_t)> on_change)
    : loop_(loop), store_(store), on_change_(std::move(on_change)) {}

asio::awaitable<void> ProviderServer::Run(UniqueFd listener) {
  asio::posix::stream_descriptor ready(*loop_, listener.release());
  for (;;) {
    boost::system::error_code error;
    co_await ready.async_wait(asio::posix::stream_descriptor::wait_read,
                              asio::redirect_error(asio::use_awaitable, error));
    UniqueFd socket;
    if (clients_ < kMaxClients) {
      socket.reset(accept4(ready.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    }
    if (!socket) {
      asio::steady_timer pause(*loop_, kAcceptPause);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    asio::co_spawn(*loop_, Serve(std::move(socket)), asio::detached);
  }
}

asio::awaitable<void> ProviderServer::Serve(UniqueFd socket) {
  const Result<uid_t> peer = PeerOf(socket.get());
  if (!peer.ok()) co_return;
  ++clients_;
  const auto link = std::make_shared<Link>(loop_, std::move(socket));
  asio::steady_timer timer(*loop_, kClientTime);
  timer.async_wait([link](const boost::system::error_code& error) {
    if (!error) link->Close();
  });
  for (;;) {
    Result<Message> request = co_await link->Receive();
    if (!request.ok()) break;
    for (std::string& message : Answer(*peer, request->bytes)) link->Send(std::move(message));
    credentials::Wipe(&request->bytes);
  }
  timer.cancel();
  link->Close();
  --clients_;
}

std::vector<std::string> ProviderServer::Answer(uid_t peer, std::string_view request) {
  std::vector<std::string> out;
  const auto done = Do(peer, request);
  if (done.ok()) {
    for (const provider_wire::Provider& one : *done) out.push_back(provider_wire::Encode(one));
  }
  out.push_back(provider_wire::Encode(provider_wire::Done{done.status()}));
  return out;
}

Result<std::vector<provider_wire::Provider>> ProviderServer::Do(uid_t peer,
                                                                std::string_view request) {
  const std::vector<provider_wire::Provider> none;
  ODY_ASSIGN_OR_RETURN(const MessageType type, provider_wire::TypeOf(request));
  if (type == MessageType::kList) {
    provider_wire::List list;
    ODY_RETURN_IF_ERROR(provider_wire::Decode(request, &list));
    ODY_ASSIGN_OR_RETURN(const uid_t owner, OwnerOf(peer, list.owner));
    return store_->List(owner);
  }
  if (type == MessageType::kRemove) {
    provider_wire::Remove remove;
    ODY_RETURN_IF_ERROR(provider_wire::Decode(request, &remove));
    ODY_ASSIGN_OR_RETURN(const uid_t owner, OwnerOf(peer, remove.owner));
    ODY_RETURN_IF_ERROR(store_->Remove(owner, remove.name));
    on_change_(owner);
    return none;
  }
  provider_wire::Put put;
  Status status = provider_wire::Decode(request, &put);
  Result<uid_t> owner = OwnerOf(peer, put.owner);
  if (status.ok() && !owner.ok()) status = owner.status();
  if (status.ok()) status = store_->Put(*owner, put, static_cast<uint64_t>(time(nullptr)));
  for (provider_wire::Secret& secret : put.secrets) credentials::Wipe(&secret.value);
  ODY_RETURN_IF_ERROR(status);
  on_change_(*owner);
  return none;
}

}  // namespace odyssey::egress
