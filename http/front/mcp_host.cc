#include "http/front/mcp_host.h"

#include <sys/random.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "http/front/mcp_exchange.h"
#include "http/shape/event_message.h"

namespace odyssey::front {
namespace {

// Of what a client that comes back gets of one stream, beside what it must get.
constexpr size_t kMaxStreamBytes = 256 * 1024;

std::string NewId() {
  constexpr char kDigits[] = "0123456789abcdef";
  unsigned char bytes[16];
  ODY_CHECK(getrandom(bytes, sizeof(bytes), 0) == sizeof(bytes));
  std::string out;
  for (const unsigned char byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 0xf];
  }
  return out;
}

}  // namespace

// ── streams ──

void McpStream::Add(const std::string& message, mcp::Delivery delivery) {
  if (finished_) return;
  const bool slow = exchange_ != nullptr && exchange_->pending_bytes() >= kMaxPendingBytes;
  if (slow && delivery == mcp::Delivery::kIfTaken) return;
  const uint64_t number = ++last_;
  std::string frame = shape::EventFrame(
      id_ == 0 ? "" : std::to_string(id_) + "-" + std::to_string(number), message);
  if (exchange_ != nullptr) exchange_->WriteFrame(frame);
  if (id_ == 0) return;
  kept_bytes_ += frame.size();
  kept_.push_back({number, std::move(frame), delivery});
  while (kept_bytes_ > kMaxStreamBytes) {
    const auto oldest = std::find_if(kept_.begin(), kept_.end(), [](const Event& each) {
      return each.delivery == mcp::Delivery::kIfTaken;
    });
    if (oldest == kept_.end()) return;
    kept_bytes_ -= oldest->frame.size();
    kept_.erase(oldest);
  }
}

void McpStream::Begin() {
  if (std::exchange(begun_, true) || exchange_ == nullptr) return;
  exchange_->BeginEvents();
  if (primed_ && id_ != 0) exchange_->WriteFrame("id: " + std::to_string(id_) + "-0\ndata:\n\n");
}

void McpStream::Send(std::string message, mcp::Delivery delivery) {
  Begin();
  message.pop_back();  // the line feed
  Add(message, delivery);
}

void McpStream::Finish(std::string answer, unsigned status) {
  if (!begun_ && exchange_ != nullptr) {
    finished_ = true;
    return exchange_->ReplyAlone(status, std::move(answer));
  }
  Send(std::move(answer), mcp::Delivery::kAlways);
  finished_ = true;
  if (exchange_ != nullptr) exchange_->EndEvents();
}

void McpStream::Abandon() {
  if (std::exchange(finished_, true) || exchange_ == nullptr) return;
  // A stream without an answer.
  Begin();
  exchange_->EndEvents();
}

void McpStream::Attach(McpExchange* exchange) { exchange_ = exchange; }

void McpStream::AttachAgain(McpExchange* exchange, uint64_t after) {
  // The client has gone from it, which its kernel need not say.
  if (exchange_ != nullptr && !finished_) exchange_->EndEvents();
  exchange_ = exchange;
  begun_ = true;
  exchange->BeginEvents();
  for (const Event& each : kept_) {
    if (each.number > after) exchange->WriteFrame(each.frame);
  }
  if (finished_) exchange->EndEvents();
}

void McpStream::Detach(const McpExchange* exchange) {
  if (exchange_ == exchange) exchange_ = nullptr;
}

// ── sessions ──

McpSession::McpSession(McpHost* host, std::string id, mcp::Caller caller)
    : host_(host),
      id_(std::move(id)),
      caller_(std::move(caller)),
      scope_(host->service()->NewScope(caller_)),
      peer_(std::make_shared<mcp::Peer>(host->service()->facts(), scope_.get())),
      own_stream_(std::make_shared<McpStream>(0, false)),
      idle_(*host->loop()) {}

void McpSession::Enter() {
  ++entered_;
  idle_.cancel();
}

void McpSession::Leave() {
  if (--entered_ == 0) ArmIdle();
}

void McpSession::ArmIdle() {
  idle_.expires_after(host_->limits().idle);
  idle_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const std::shared_ptr<McpSession> self = weak.lock();
    if (error || !self || self->entered_ != 0) return;
    // Also while a call runs: a client that waits for it is connected.
    self->host_->Remove(self.get());
  });
}

std::shared_ptr<McpStream> McpSession::NewStream() {
  size_t bytes = 0;
  for (const auto& [id, stream] : streams_) bytes += stream->kept_bytes();
  const McpLimits& limits = host_->limits();
  for (auto each = streams_.begin(); each != streams_.end();) {
    if (streams_.size() < limits.kept_streams && bytes <= limits.kept_bytes) break;
    // Of one that still runs the answer is not known.
    if (each->second->attached() || !each->second->finished()) {
      ++each;
      continue;
    }
    bytes -= each->second->kept_bytes();
    each = streams_.erase(each);
  }
  const uint64_t id = ++last_stream_;
  return streams_[id] =
             std::make_shared<McpStream>(id, peer_->version() == mcp::kStatefulVersions[0]);
}

std::shared_ptr<McpStream> McpSession::FindStream(uint64_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second;
}

void McpSession::Close() {
  idle_.cancel();
  scope_->Close();
  peer_->CancelAll();
  own_stream_->Abandon();
  streams_.clear();
}

// ── host ──

McpHost::McpHost(boost::asio::io_context* loop, mcp::Service* service, std::string bundle,
                 McpLimits limits)
    : loop_(loop), service_(service), bundle_(std::move(bundle)), limits_(limits) {}

McpHost::~McpHost() = default;

bool McpHost::MayAdd(const std::string& token) const {
  const auto is_of = [&token](const auto& each) { return each.second->caller().token == token; };
  const auto count = std::count_if(sessions_.begin(), sessions_.end(), is_of) +
                     std::count_if(scopes_.begin(), scopes_.end(), is_of);
  return static_cast<size_t>(count) < limits_.of_token;
}

std::shared_ptr<McpSession> McpHost::NewSession(const mcp::Caller& caller) {
  if (!MayAdd(caller.token)) return nullptr;
  auto session = std::make_shared<McpSession>(this, NewId(), caller);
  return sessions_[session->id()] = std::move(session);
}

std::shared_ptr<McpSession> McpHost::FindSession(const std::string& id, const std::string& token) {
  const auto found = sessions_.find(id);
  // Of another token it is as if there were none.
  if (found == sessions_.end() || found->second->caller().token != token) return nullptr;
  return found->second;
}

std::shared_ptr<McpSession> McpHost::ScopeOf(const mcp::Caller& caller) {
  const auto found = scopes_.find(caller);
  if (found != scopes_.end()) return found->second;
  if (!MayAdd(caller.token)) return nullptr;
  return scopes_[caller] = std::make_shared<McpSession>(this, "", caller);
}

void McpHost::Remove(McpSession* session) {
  const std::shared_ptr<McpSession> kept = session->shared_from_this();
  if (session->id().empty()) {
    scopes_.erase(session->caller());
  } else {
    sessions_.erase(session->id());
  }
  session->Close();
}

void McpHost::CloseAll() {
  for (const auto& [id, session] : std::exchange(sessions_, {})) session->Close();
  for (const auto& [caller, scope] : std::exchange(scopes_, {})) scope->Close();
}

}  // namespace odyssey::front
