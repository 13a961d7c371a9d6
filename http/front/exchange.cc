#include "http/front/exchange.h"

#include <google/protobuf/empty.pb.h>

#include <functional>
#include <optional>

#include "common/base/refusal.h"
#include "common/rpc/call_status.h"
#include "http/api/openapi.h"
#include "http/console/console_files.h"
#include "http/front/event_exchange.h"
#include "http/front/exec_exchange.h"
#include "http/front/mcp_exchange.h"
#include "http/front/run_exchange.h"
#include "http/front/sign_in.h"
#include "http/front/transfer_exchange.h"
#include "http/shape/error_body.h"
#include "http/shape/original.h"
#include "http/shape/public_id.h"
#include "odyssey/agent/v1/session.pb.h"
#include "odyssey/ops/v1/metrics.pb.h"

namespace odyssey::front {
namespace {

namespace pb = agent::v1;
using google::protobuf::Message;

constexpr size_t kMaxFrames = 256;
constexpr unsigned kUnprocessable = 422, kServiceUnavailable = 503;

// One call.
class CallExchange final : public Exchange {
 public:
  using Exchange::Exchange;

  void Start() override {
    const auto* method = api::MethodOf(*request_.route);
    const std::unique_ptr<Message> request = api::NewMessage(*method->input_type());
    if (!Fill(request.get())) return;
    answer_ = api::NewMessage(*method->output_type());
    call_ = Call(api::CallPath(*method), request_.route->deadline_ms, *request);
  }

 private:
  void OnProgress() override {
    if (call_->Receive(answer_.get())) answered_ = true;
    if (!call_->ended()) return;
    if (!call_->status().ok()) return Fail(call_->status());
    if (!answered_) return Fail(Internal("odyssey-agentd sent no answer"));
    const api::Route& route = *request_.route;
    if (route.act == api::Act::kRemove) return responder_->Reply(204, "", "", {});
    if (route.act == api::Act::kMetrics) {
      auto& metrics = dynamic_cast<ops::v1::GetMetricsResponse&>(*answer_);
      return responder_->Reply(200, route.content_type, std::move(*metrics.mutable_text()), {});
    }
    if (route.write != nullptr) return ReplyJson(route.write(*answer_));
    shape::MakePublic(answer_.get());
    ReplyJson(shape::WriteMessage(*answer_));
  }

  std::unique_ptr<Message> answer_;
  std::shared_ptr<upstream::AgentCall> call_;
  bool answered_ = false;
};

// A session, and then its turns.
class SessionExchange final : public Exchange {
 public:
  using Exchange::Exchange;

  void Start() override {
    pb::GetSessionRequest request;
    request.set_session_id(SessionId());
    call_ =
        Call("/odyssey.agent.v1.SessionService/GetSession", request_.route->deadline_ms, request);
  }

 private:
  void OnProgress() override {
    pb::ListTurnsResponse part;
    if (!session_) {
      pb::GetSessionResponse answer;
      if (call_->Receive(&answer)) session_ = std::move(*answer.mutable_session());
      if (!call_->ended()) return;
      if (!call_->status().ok()) return Fail(call_->status());
      pb::ListTurnsRequest request;
      request.set_session_id(session_->id());
      call_ =
          Call("/odyssey.agent.v1.SessionService/ListTurns", request_.route->deadline_ms, request);
      return;
    }
    while (call_->Receive(&part)) {
      for (pb::ChatMessage& each : *part.mutable_turn()->mutable_chat_history()) {
        if (each.kind() == "text") messages_.push_back(std::move(each));
      }
    }
    if (!call_->ended()) return;
    if (!call_->status().ok()) return Fail(call_->status());
    ReplyJson(shape::WriteSessionDetail(*session_, messages_));
  }

  std::optional<pb::Session> session_;
  std::vector<pb::ChatMessage> messages_;
  std::shared_ptr<upstream::AgentCall> call_;
};

class HealthExchange final : public Exchange {
 public:
  using Exchange::Exchange;

  // Of the server as a whole: a HealthCheckRequest without a service is an empty message.
  void Start() override {
    call_ = Call("/grpc.health.v1.Health/Check", request_.route->deadline_ms,
                 google::protobuf::Empty());
  }

 private:
  void OnProgress() override {
    google::protobuf::Empty answer;
    while (call_->Receive(&answer)) {
    }
    if (!call_->ended()) return;
    const bool serves = call_->status().ok();
    responder_->Reply(serves ? 200 : kServiceUnavailable, "application/json",
                      serves ? "{\"status\":\"ok\"}\n" : "{\"status\":\"unavailable\"}\n", {});
  }

  std::shared_ptr<upstream::AgentCall> call_;
};

constexpr std::string_view kFirstFile = "index.html";

// What needs no call.
class FixedExchange final : public Exchange {
 public:
  using Exchange::Exchange;

  void Start() override {
    const api::Route& route = *request_.route;
    switch (route.act) {
      case api::Act::kDocument:
        return responder_->Reply(200, route.content_type, api::OpenApiDocument(), {});
      case api::Act::kConsole:
        return ReplyConsoleFile();
      default:
        return Fail({Code::kUnimplemented, std::string(route.path) +
                                               ": hubs are reached by a user's own program, with "
                                               "that user's keys; use odyssey-ctl bundle push or "
                                               "odyssey-ctl bundle pull"});
    }
  }

 private:
  void OnProgress() override {}

  void ReplyConsoleFile() {
    const auto named = request_.of_path.find("name");
    const std::string_view name = named == request_.of_path.end() ? kFirstFile : named->second;
    const console::File* file = console::FindFile(name);
    if (file == nullptr) return Fail(NotFound("the console has no file of this name"));
    responder_->Reply(200, file->content_type, std::string(file->bytes), {});
  }
};

}  // namespace

std::shared_ptr<const std::string> EventFrames::Get(const std::string& id,
                                                    const std::function<std::string()>& make) {
  const auto found = frames_.find(id);
  if (found != frames_.end()) return found->second;
  auto frame = std::make_shared<const std::string>(make());
  frames_[id] = frame;
  ids_.push_back(id);
  if (ids_.size() > kMaxFrames) {
    frames_.erase(ids_.front());
    ids_.pop_front();
  }
  return frame;
}

std::shared_ptr<upstream::AgentCall> Exchange::Open(const std::string& path, int deadline_ms) {
  return backend_->link->Open(path, request_.token, deadline_ms, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnProgress();
  });
}

std::shared_ptr<upstream::AgentCall> Exchange::Call(const std::string& path, int deadline_ms,
                                                    const google::protobuf::MessageLite& request) {
  std::shared_ptr<upstream::AgentCall> call = Open(path, deadline_ms);
  call->Send(request);
  call->CloseSend();
  return call;
}

void Exchange::Fail(const Status& status) { FailWith(shape::HttpStatusOf(status.code()), status); }

void Exchange::FailWith(unsigned http_status, const Status& status) {
  Fields fields;
  if (status.detail().hint == rpc::kHintConnectionLost) {
    return FailWith(http_status, Unavailable("odyssey-agentd does not answer; try again, and see "
                                             "odyssey-ctl status"));
  }
  // The original's words, which its clients may look for, and the id as the client has it.
  if (status.code() == Code::kNotFound && status.detail().field == "session_id" &&
      request_.of_path.count("session_id") != 0) {
    const std::string named = "session not found: " + shape::PublicId(SessionId());
    if (status.message() != named) return FailWith(http_status, WithMessage(named, status));
  }
  if (http_status == kServiceUnavailable) fields.emplace_back("Retry-After", "1");
  responder_->Reply(http_status, "application/json", shape::ErrorBody(status), fields);
}

void Exchange::ReplyJson(std::string body) {
  responder_->Reply(200, "application/json", std::move(body) + "\n", {});
}

bool Exchange::Fill(Message* request) {
  const api::Route& route = *request_.route;
  if (api::HasJsonBody(route)) {
    const Result<shape::Json> body = shape::ParseObject(request_.body);
    if (!body.ok()) return Fail(body.status()), false;
    const Status read = api::ReadBody(route, *body, request);
    if (!read.ok()) return FailWith(kUnprocessable, read), false;
  }
  const Status filled = api::FillFields(route, request_.of_path, request_.query, request);
  if (!filled.ok()) Fail(filled);
  return filled.ok();
}

std::string Exchange::SessionId() const {
  return shape::OwnId("session_id", request_.of_path.at("session_id"));
}

std::shared_ptr<Exchange> NewExchange(Request request, Backend* backend, Responder* responder) {
  using api::Act;
  switch (request.route->act) {
    case Act::kCall:
    case Act::kRemove:
    case Act::kMetrics:
      return std::make_shared<CallExchange>(std::move(request), backend, responder);
    case Act::kSession:
      return std::make_shared<SessionExchange>(std::move(request), backend, responder);
    case Act::kHealth:
      return std::make_shared<HealthExchange>(std::move(request), backend, responder);
    case Act::kList:
    case Act::kBytes:
      return std::make_shared<StreamExchange>(std::move(request), backend, responder);
    case Act::kImport:
      return std::make_shared<ImportExchange>(std::move(request), backend, responder);
    case Act::kEvents:
      return std::make_shared<EventExchange>(std::move(request), backend, responder);
    case Act::kApprovals:
      return std::make_shared<ApprovalExchange>(std::move(request), backend, responder);
    case Act::kRun:
    case Act::kRunSync:
      return std::make_shared<RunExchange>(std::move(request), backend, responder);
    case Act::kExec:
      return std::make_shared<ExecExchange>(std::move(request), backend, responder);
    case Act::kSignIn:
      return std::make_shared<SignInExchange>(std::move(request), backend, responder);
    case Act::kSignOut:
      return std::make_shared<SignOutExchange>(std::move(request), backend, responder);
    case Act::kMcp:
      return std::make_shared<McpExchange>(std::move(request), backend, responder);
    case Act::kDocument:
    case Act::kConsole:
    case Act::kElsewhere:
      break;
  }
  return std::make_shared<FixedExchange>(std::move(request), backend, responder);
}

}  // namespace odyssey::front
