#include "http/front/transfer_exchange.h"

#include <utility>

#include "http/shape/message_body.h"
#include "http/shape/public_id.h"
#include "odyssey/agent/v1/bundle.pb.h"
#include "odyssey/agent/v1/session.pb.h"
#include "odyssey/supervisor/v1/changes.pb.h"

namespace odyssey::front {
namespace {

namespace pb = agent::v1;
namespace sup = supervisor::v1;
using google::protobuf::Message;

constexpr size_t kPartBytes = 256 * 1024;

template <typename Type>
const Type* AsIf(const Message& message) {
  return dynamic_cast<const Type*>(&message);
}

// What a message of the stream adds to the answer.
std::string BytesOf(const Message& message) {
  if (const auto* part = AsIf<pb::ExportBundleResponse>(message)) return part->chunk();
  if (const auto* part = AsIf<pb::ExportSessionResponse>(message)) return part->data();
  if (const auto* part = AsIf<pb::ReadFileResponse>(message)) return part->file().content();
  if (const auto* part = AsIf<sup::DiffChangesResponse>(message)) {
    return part->text() + (part->truncated() ? "\\ the rest was left out\n" : "");
  }
  ODY_CHECK(false && "a route of bytes has a message without them");
  return "";
}

// What the first one says beside its bytes.
Fields FieldsOf(const Message& message) {
  if (const auto* part = AsIf<pb::ExportBundleResponse>(message)) {
    // Names of bundles and versions are of letters, digits, dots, dashes and underscores.
    const pb::Bundle& bundle = part->bundle();
    return {{"Content-Disposition",
             "attachment; filename=\"" + bundle.id() + "-" + bundle.version() + ".odyssey\""}};
  }
  if (const auto* part = AsIf<pb::ReadFileResponse>(message)) {
    return {{"Content-Disposition", "attachment"},
            {"Odyssey-Total-Bytes", std::to_string(part->file().total_bytes())},
            {"Odyssey-Next-Offset", std::to_string(part->file().next_offset())}};
  }
  if (AsIf<pb::ExportSessionResponse>(message) != nullptr) {
    return {{"Content-Disposition", "attachment"}};
  }
  return {};
}

}  // namespace

void StreamExchange::Start() {
  const auto* method = api::MethodOf(*request_.route);
  const std::unique_ptr<Message> request = api::NewMessage(*method->input_type());
  if (!Fill(request.get())) return;
  message_ = api::NewMessage(*method->output_type());
  call_ = Call(api::CallPath(*method), request_.route->deadline_ms, *request);
}

void StreamExchange::OnProgress() {
  if (!call_) return;
  while (responder_->pending_bytes() < kMaxPendingBytes && call_->Receive(message_.get())) {
    if (!began_) Begin();
    Forward();
    is_first_ = false;
  }
  if (responder_->pending_bytes() >= kMaxPendingBytes || !call_->ended()) return;
  const Status status = call_->status();
  call_.reset();
  if (!status.ok() && !began_) return Fail(status);
  if (!status.ok()) return responder_->AbortStream();
  if (!began_) {
    message_->Clear();
    Begin();
  }
  if (request_.route->act == api::Act::kList) responder_->Write("]\n");
  responder_->EndStream();
}

void StreamExchange::Begin() {
  began_ = true;
  const bool bytes = request_.route->act == api::Act::kBytes;
  responder_->BeginStream(request_.route->content_type, bytes ? FieldsOf(*message_) : Fields());
  if (!bytes) responder_->Write("[");
}

void StreamExchange::Forward() {
  if (request_.route->act == api::Act::kBytes) return responder_->Write(BytesOf(*message_));
  shape::MakePublic(message_.get());
  responder_->Write((is_first_ ? "" : ",") + shape::WriteMessage(*message_));
}

void ImportExchange::Start() {
  const auto* method = api::MethodOf(*request_.route);
  pb::ImportBundleRequest bundle;
  pb::ImportSessionRequest session;
  const bool of_bundle = method->input_type() == pb::ImportBundleRequest::descriptor();
  bundle.mutable_options();
  if (!Fill(of_bundle ? static_cast<Message*>(&bundle) : &session)) return;
  answer_ = api::NewMessage(*method->output_type());
  call_ = Open(api::CallPath(*method), request_.route->deadline_ms);
  call_->Send(of_bundle ? static_cast<const Message&>(bundle) : session);
  const std::string& body = request_.body;
  for (size_t at = 0; at < body.size(); at += kPartBytes) {
    bundle.set_chunk(body.substr(at, kPartBytes));
    session.set_data(bundle.chunk());
    call_->Send(of_bundle ? static_cast<const Message&>(bundle) : session);
  }
  call_->CloseSend();
}

void ImportExchange::OnProgress() {
  while (call_->Receive(answer_.get())) {
  }
  if (!call_->ended()) return;
  if (!call_->status().ok()) return Fail(call_->status());
  const api::Route& route = *request_.route;
  if (route.write != nullptr) return ReplyJson(route.write(*answer_));
  shape::MakePublic(answer_.get());
  ReplyJson(shape::WriteMessage(*answer_));
}

}  // namespace odyssey::front
