#include "agentd/model/answer_body.h"

#include "agentd/model/answer.h"

namespace odyssey::model {
namespace {

using Json = nlohmann::json;

constexpr size_t kBeginningBytes = 300;

}  // namespace

Status AnswerBody::Push(std::string_view bytes, const ModelSink& sink) {
  if (beginning_.size() < kBeginningBytes) {
    beginning_ += bytes.substr(0, kBeginningBytes - beginning_.size());
  }
  if (form_ == Form::kUnknown) {
    const size_t first = bytes.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return OkStatus();
    bytes.remove_prefix(first);
    form_ = bytes.front() == '{' || bytes.front() == '[' ? Form::kWhole : Form::kEvents;
  }
  if (form_ == Form::kEvents) {
    return parser_.Push(bytes, [&](std::string_view data) {
      has_event_ = true;
      return decoder_->Push(data, sink);
    });
  }
  if (whole_.size() + bytes.size() > kMaxWholeBytes) {
    return ResourceExhausted("model answer: larger than " + std::to_string(kMaxWholeBytes) +
                             " bytes");
  }
  whole_ += bytes;
  return OkStatus();
}

// An array holds what would have been the events of a stream.
Status AnswerBody::PushWhole(const ModelSink& sink) {
  has_event_ = true;
  const Json value = Json::parse(whole_, nullptr, false);
  if (!value.is_array()) return decoder_->Push(whole_, sink);
  for (const Json& element : value) ODY_RETURN_IF_ERROR(decoder_->Push(element.dump(), sink));
  return OkStatus();
}

Status AnswerBody::Finish(const ModelSink& sink) {
  if (form_ == Form::kWhole) ODY_RETURN_IF_ERROR(PushWhole(sink));
  ODY_RETURN_IF_ERROR(parser_.Finish([&](std::string_view data) {
    has_event_ = true;
    return decoder_->Push(data, sink);
  }));
  if (!has_event_) {
    return Unavailable(beginning_.empty() ? "model provider sent an empty body"
                                          : "model provider sent no events; the body begins: " +
                                                QuoteForError(beginning_));
  }
  return decoder_->Finish(sink);
}

}  // namespace odyssey::model
