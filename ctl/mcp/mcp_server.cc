#include "ctl/mcp/mcp_server.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "ctl/approval/approval_call.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/signal_fd.h"
#include "ctl/client/client.h"
#include "ctl/session/session_calls.h"
#include "odyssey/agent/v1/session.stub.h"

namespace odyssey::ctl {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;
using Error = boost::system::error_code;

// All messages share stdout.
class StdoutSink final : public mcp::Sink {
 public:
  explicit StdoutSink(const Console& console) : console_(console) {}
  void Send(std::string message, mcp::Delivery /*delivery*/) override { console_.Print(message); }
  void Finish(std::string answer, unsigned /*status*/) override { console_.Print(answer); }
  void Abandon() override {}

 private:
  const Console& console_;
};

int Duplicate(int fd) {
  const int duplicate = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  ODY_CHECK(duplicate >= 0);
  return duplicate;
}

std::string TextOf(const Failure& failure) { return ErrorOf(failure).message; }

}  // namespace

McpServer::McpServer(const Console& console, const Locations& locations, McpOptions options,
                     int signal_fd)
    : console_(console),
      locations_(locations),
      options_(std::move(options)),
      input_(loop_),
      signals_(loop_, Duplicate(signal_fd)),
      stdio_(console),
      link_(&loop_, locations.agentd_socket),
      service_({.loop = &loop_,
                .link = &link_,
                .version = ODYSSEY_VERSION,
                .create = [this](const mcp::Caller&, mcp::AgentCalls*,
                                 auto on_session) { Create(std::move(on_session)); },
                .decide = [this](const auto& request,
                                 bool asks) -> std::optional<agent::v1::ResolveApprovalRequest> {
                  const auto answer = AnswerWithoutAsking(options_.approve, asks, request);
                  if (!answer) return std::nullopt;
                  return AnswerRequest(request, answer->answer);
                },
                .keep = options_.keep || options_.review,
                .told =
                    [this](const std::string& id) {
                      console_.Warn("odyssey-ctl: session " + Sanitize(id, Lines::kOne) +
                                    " is kept");
                    }}),
      scope_(service_.NewScope({"", options_.bundle, options_.cwd, options_.review})),
      peer_(std::make_shared<mcp::Peer>(service_.facts(), scope_.get())) {
  // What cannot be waited for, as a file, can always be read.
  Error ignored;
  input_.assign(Duplicate(STDIN_FILENO), ignored);
}

McpServer::~McpServer() = default;

void McpServer::Run() {
  AwaitSignal();
  AwaitInput();
  loop_.run();
  service_.Abandon();
  scope_.reset();
}

void McpServer::AwaitInput() {
  if (stopping_) return;
  if (!input_.is_open()) return boost::asio::post(loop_, [this] { ReadInput(); });
  input_.async_wait(Descriptor::wait_read, [this](Error error) {
    if (!error) ReadInput();
  });
}

void McpServer::ReadInput() {
  if (stopping_) return;
  const bool open = stdio_.Read();
  stdio_.Deliver(Handlers());
  open ? AwaitInput() : Stop();
}

void McpServer::AwaitSignal() {
  signals_.async_wait(Descriptor::wait_read, [this](Error error) {
    if (error) return;
    TakeSignal(signals_.native_handle()) != 0 ? Stop() : AwaitSignal();
  });
}

void McpServer::Stop() {
  if (std::exchange(stopping_, true)) return;
  Error ignored;
  input_.close(ignored);
  signals_.close(ignored);
  scope_->Close();
  // What runs is answered no more.
  peer_->CancelAll();
  for (const auto& [id, call] : std::exchange(stateless_, {})) {
    if (const auto running = call.lock()) running->Cancel();
  }
  service_.WhenClosed([this] { link_.Close(); });
}

RpcHandlers McpServer::Handlers() {
  return {.on_request = [this](const RpcRequest& request) { return OnRequest(request); },
          .on_notification = [this](const RpcNotification& each) { OnNotification(each); },
          .on_response = [this](const RpcResponse& response) { peer_->OnResponse(response); }};
}

std::optional<RpcAnswer> McpServer::OnRequest(const RpcRequest& request) {
  auto sink = std::make_shared<StdoutSink>(console_);
  if (mcp::IsStateless(request)) {
    std::erase_if(stateless_, [](const auto& each) {
      const auto call = each.second.lock();
      return !call || call->ended();
    });
    stateless_[request.id.dump()] = mcp::HandleStateless(
        service_.facts(), request, nullptr, std::move(sink), [this] { return scope_.get(); });
    return std::nullopt;
  }
  if (request.method == "initialize") return peer_->Initialize(request.params);
  if (!peer_->initialized() && request.method != "ping") {
    return RpcError{RpcCode::kInvalidRequest,
                    request.method +
                        ": the first request is initialize, or each has its version "
                        "and capabilities in _meta"};
  }
  peer_->OnRequest(request, std::move(sink));
  return std::nullopt;
}

void McpServer::OnNotification(const RpcNotification& notification) {
  peer_->OnNotification(notification);
  if (notification.method != "notifications/cancelled") return;
  const auto found = stateless_.find(notification.params.value("requestId", Json()).dump());
  if (found == stateless_.end()) return;
  const std::shared_ptr<mcp::Call> call = found->second.lock();
  stateless_.erase(found);
  if (call) call->Cancel();
}

// Waits for agentd, and so for no other message: it is the client's first request.
void McpServer::Create(mcp::AgentOptions::OnSession on_session) {
  const Result<Client> client = Client::Connect(Daemon::kAgentd, locations_);
  if (!client.ok()) {
    return on_session(
        {client.status().code(), TextOf(ExplainConnect("create a session", client.status()))}, {});
  }
  const agent::v1::SessionServiceStub stub(client->channel());
  const Made<agent::v1::Session> made =
      TryCreateSession(console_, *client, stub,
                       {.bundle = options_.bundle, .cwd = options_.cwd, .review = options_.review});
  if (const auto* failure = std::get_if<Failure>(&made)) {
    return on_session(Internal(TextOf(*failure)), {});
  }
  on_session(OkStatus(), std::get<agent::v1::Session>(made));
}

}  // namespace odyssey::ctl
