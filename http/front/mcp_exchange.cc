#include "http/front/mcp_exchange.h"

#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "common/base/refusal.h"
#include "common/base/utf8.h"
#include "http/shape/error_body.h"
#include "http/shape/event_message.h"

namespace odyssey::front {
namespace {

// An answer that has not come by then is a stream, so that a proxy does not give up, and a client
// can come back to it.
constexpr std::chrono::seconds kStreamAfter{5};
constexpr std::chrono::seconds kKeepAlive{15};
constexpr unsigned kAccepted = 202, kNoContent = 204, kBadRequest = 400, kNotFound = 404,
                   kNotAcceptable = 406, kConflict = 409, kTooLarge = 413, kTooMany = 429;

// "3-17": the 17th event of the third stream.
struct EventId {
  uint64_t stream = 0, event = 0;
};
std::optional<EventId> ParseEventId(const std::string& text) {
  EventId out;
  const char* const end = text.data() + text.size();
  const auto stream = std::from_chars(text.data(), end, out.stream);
  if (stream.ec != std::errc() || stream.ptr == end || *stream.ptr != '-') return std::nullopt;
  const auto event = std::from_chars(stream.ptr + 1, end, out.event);
  if (event.ec != std::errc() || event.ptr != end) return std::nullopt;
  return out;
}

}  // namespace

McpExchange::McpExchange(Request request, Backend* backend, Responder* responder)
    : Exchange(std::move(request), backend, responder), timer_(*backend->loop) {}

McpExchange::~McpExchange() {
  if (stream_) stream_->Detach(this);
  if (call_) call_->Cancel();
  if (session_) session_->Leave();
}

void McpExchange::Start() {
  if (request_.body.size() > RpcLines::kMaxLine) {
    return Refuse(kTooLarge, nullptr, RpcCode::kInvalidRequest,
                  "a message of more than " + std::to_string(RpcLines::kMaxLine) + " bytes");
  }
  if (!FillCaller()) return;
  if (request_.route->method == "GET") return OnGet();
  if (request_.route->method == "DELETE") return OnDelete();
  OnPost(ParseRpcMessage(request_.body));
}

bool McpExchange::FillCaller() {
  caller_.token = request_.token;
  const auto part = [](const auto& from, const char* name) -> std::string {
    const auto found = from.find(name);
    return found == from.end() ? "" : found->second;
  };
  const std::string space = part(request_.of_path, "namespace");
  caller_.bundle = (space.empty() ? "" : space + "/") + part(request_.of_path, "bundle");
  if (caller_.bundle.empty()) caller_.bundle = backend_->mcp->bundle();
  caller_.cwd = part(request_.query, "cwd");
  const std::string review = part(request_.query, "review");
  caller_.review = review == "true";
  Status status;
  if (caller_.bundle.empty()) {
    status = NotFound("/mcp: it names no bundle; use /mcp/BUNDLE, or the setting mcp_bundle");
  } else if (!review.empty() && review != "true" && review != "false") {
    status =
        Refused(Code::kInvalidArgument, "review", SanitizeUtf8(review), "must be true or false");
  }
  for (const auto& [name, value] : request_.query) {
    if (name == "cwd" || name == "review") continue;
    status = Refused(Code::kInvalidArgument, SanitizeUtf8(name), "",
                     "the query has no such parameter here");
  }
  if (!status.ok()) Fail(status);
  return status.ok();
}

// ── POST ──

void McpExchange::OnPost(RpcMessage message) {
  if (const auto* invalid = std::get_if<RpcInvalid>(&message)) {
    return Refuse(kBadRequest, invalid->id, invalid->error.code, invalid->error.message);
  }
  if (const auto* request = std::get_if<RpcRequest>(&message)) {
    if (mcp::IsStateless(*request, request_.mcp.version)) return OnStateless(*request);
    if (request->method == "initialize") return OnInitialize(*request);
  } else if (request_.mcp.version == mcp::kStatelessVersion) {
    // Notifications of that era have no effect by HTTP: a client cancels by going.
    return responder_->Reply(kAccepted, "", "", {});
  }
  OnStateful(message);
}

void McpExchange::OnStateless(const RpcRequest& request) {
  const mcp::RoutingFields fields = {request_.mcp.version, request_.mcp.method, request_.mcp.name};
  Attach(std::make_shared<McpStream>(0, false));
  const auto scope = [this]() -> mcp::Scope* {
    session_ = backend_->mcp->ScopeOf(caller_);
    if (!session_) return nullptr;
    session_->Enter();
    return session_->scope();
  };
  call_ = mcp::HandleStateless(backend_->mcp->service()->facts(), request, &fields, stream_, scope);
}

void McpExchange::OnInitialize(const RpcRequest& request) {
  if (!request_.mcp.session_id.empty()) {
    return Refuse(kBadRequest, request.id, RpcCode::kInvalidRequest,
                  "initialize: the request has an Mcp-Session-Id already");
  }
  session_ = backend_->mcp->NewSession(caller_);
  if (!session_) {
    return Refuse(kTooMany, request.id, RpcCode::kInternalError,
                  "initialize: this token has as many sessions as it may; DELETE one");
  }
  session_->Enter();
  const auto answer = session_->peer()->Initialize(request.params);
  if (const auto* error = std::get_if<RpcError>(&answer)) {
    backend_->mcp->Remove(session_.get());
    return Refuse(kBadRequest, request.id, error->code, error->message);
  }
  session_->scope()->Open([weak = weak_from_this(), host = backend_->mcp,
                           made = std::weak_ptr<McpSession>(session_), id = request.id,
                           result = std::get<Json>(answer)](const Status& status) {
    const auto self = std::static_pointer_cast<McpExchange>(weak.lock());
    const std::shared_ptr<McpSession> session = made.lock();
    if (!self && session) return host->Remove(session.get());
    if (!self) return;
    if (status.ok()) {
      return self->responder_->Reply(200, "application/json", FormatRpcResult(id, result),
                                     {{"Mcp-Session-Id", self->session_->id()}});
    }
    self->backend_->mcp->Remove(self->session_.get());
    self->Refuse(shape::HttpStatusOf(status.code()), id, RpcCode::kInternalError, status.message());
  });
}

void McpExchange::OnStateful(const RpcMessage& message) {
  if (!EnterSession()) return;
  mcp::Peer* const peer = session_->peer();
  if (const auto* request = std::get_if<RpcRequest>(&message)) {
    Attach(session_->NewStream());
    return peer->OnRequest(*request, stream_);
  }
  if (const auto* notification = std::get_if<RpcNotification>(&message)) {
    peer->OnNotification(*notification);
  } else {
    peer->OnResponse(std::get<RpcResponse>(message));
  }
  responder_->Reply(kAccepted, "", "", {});
}

bool McpExchange::EnterSession() {
  const McpFields& fields = request_.mcp;
  if (fields.session_id.empty()) {
    Refuse(kBadRequest, nullptr, RpcCode::kInvalidRequest,
           "Mcp-Session-Id: it is missing; the answer to initialize has it");
    return false;
  }
  std::shared_ptr<McpSession> session =
      backend_->mcp->FindSession(fields.session_id, caller_.token);
  if (!session) {
    Refuse(kNotFound, nullptr, RpcCode::kInvalidRequest,
           "Mcp-Session-Id: there is no such session, or it was idle; initialize makes one");
    return false;
  }
  if (!fields.version.empty() && fields.version != session->peer()->version()) {
    Refuse(kBadRequest, nullptr, RpcCode::kInvalidRequest,
           "MCP-Protocol-Version: the session has " + session->peer()->version());
    return false;
  }
  session_ = std::move(session);
  session_->Enter();
  return true;
}

// ── GET, DELETE ──

void McpExchange::OnGet() {
  if (!request_.mcp.takes_events) {
    return Refuse(kNotAcceptable, nullptr, RpcCode::kInvalidRequest,
                  "Accept: must have text/event-stream");
  }
  if (!EnterSession()) return;
  if (request_.last_event_id.empty()) {
    if (session_->own_stream()->attached()) {
      return Refuse(kConflict, nullptr, RpcCode::kInvalidRequest,
                    "GET: the session has a stream already");
    }
    return Attach(session_->own_stream(), 0);
  }
  const std::optional<EventId> last = ParseEventId(request_.last_event_id);
  const auto stream = last ? session_->FindStream(last->stream) : nullptr;
  if (!stream) {
    return Refuse(kNotFound, nullptr, RpcCode::kInvalidRequest,
                  "Last-Event-ID: it is of no stream that is kept");
  }
  Attach(stream, last->event);
}

void McpExchange::OnDelete() {
  if (!EnterSession()) return;
  backend_->mcp->Remove(session_.get());
  responder_->Reply(kNoContent, "", "", {});
}

// ── answers ──

void McpExchange::Refuse(unsigned status, const Json& id, RpcCode code, const std::string& why) {
  over_ = true;
  responder_->Reply(status, "application/json", FormatRpcError(id, {code, why, {}}), {});
}

void McpExchange::Attach(std::shared_ptr<McpStream> stream, std::optional<uint64_t> after) {
  stream_ = std::move(stream);
  after ? stream_->AttachAgain(this, *after) : stream_->Attach(this);
  timer_.expires_after(kStreamAfter);
  Tick();
}

void McpExchange::Tick() {
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = std::static_pointer_cast<McpExchange>(weak.lock());
    if (error || !self || self->over_) return;
    if (!self->events_) {
      self->stream_->Begin();
    } else if (self->responder_->pending_bytes() == 0) {
      self->responder_->Write(shape::kKeepAliveFrame);
    }
    self->timer_.expires_after(kKeepAlive);
    self->Tick();
  });
}

void McpExchange::BeginEvents() {
  if (std::exchange(events_, true)) return;
  responder_->BeginStream("text/event-stream", {{"X-Accel-Buffering", "no"}});
  responder_->Write(shape::kKeepAliveFrame);
}

void McpExchange::WriteFrame(const std::string& frame) { responder_->Write(frame); }

void McpExchange::EndEvents() {
  over_ = true;
  responder_->EndStream();
}

void McpExchange::ReplyAlone(unsigned status, std::string answer) {
  over_ = true;
  responder_->Reply(status, "application/json", std::move(answer), {});
}

}  // namespace odyssey::front
