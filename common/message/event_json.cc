#include "common/message/event_json.h"

#include <utility>

namespace odyssey::message {
namespace {

using agent::v1::Event;
using google::protobuf::FieldDescriptor;

// Fields NAME_json, a JSON text, which a line has as NAME, the value.
constexpr const char* kTexts[] = {"arguments", "result"};

// The payload that is set; null: none.
const FieldDescriptor* PayloadOf(const Event& event) {
  const auto* payload = Event::descriptor()->FindOneofByName("payload");
  return event.GetReflection()->GetOneofFieldDescriptor(event, payload);
}

// The payload of this name; null: there is none.
const FieldDescriptor* PayloadNamed(const std::string& name) {
  const FieldDescriptor* field = Event::descriptor()->FindFieldByName(name);
  return field != nullptr && field->containing_oneof() != nullptr ? field : nullptr;
}

// A text that does not parse stays text.
void TextsToValues(Json* body) {
  for (const std::string name : kTexts) {
    const auto text = body->find(name + "_json");
    if (text == body->end()) continue;
    Json value = Json::parse(text->get<std::string>(), nullptr, /*allow_exceptions=*/false);
    if (value.is_discarded()) value = *text;
    body->erase(text);
    (*body)[name] = std::move(value);
  }
}

void ValuesToTexts(Json* body) {
  for (const std::string name : kTexts) {
    const auto value = body->find(name);
    if (value == body->end()) continue;
    std::string text = value->dump();
    body->erase(value);
    (*body)[name + "_json"] = std::move(text);
  }
}

// Throws where a field is missing or has another type.
Result<Event> FromLine(const Json& line) {
  const Json& typed = line.at("payload");
  const std::string type = typed.at("type").get<std::string>();
  const FieldDescriptor* field = PayloadNamed(type);
  if (field == nullptr) return Status(Code::kDataLoss, "event: unknown type \"" + type + "\"");
  Event out;
  out.set_id(line.at("id").get<std::string>());
  out.set_session_id(line.at("session_id").get<std::string>());
  out.set_sequence(line.at("sequence").get<uint64_t>());
  out.set_created_at(line.at("created_at").get<std::string>());
  Json body = typed.at("payload");
  ValuesToTexts(&body);
  ODY_RETURN_IF_ERROR(FromJson(body, out.GetReflection()->MutableMessage(&out, field)));
  return out;
}

}  // namespace

Json EventToJson(const Event& event) {
  Json out = {{"id", event.id()},
              {"session_id", event.session_id()},
              {"sequence", event.sequence()},
              {"created_at", event.created_at()}};
  const FieldDescriptor* field = PayloadOf(event);
  if (field == nullptr) return out;
  Json body = ToJson(event.GetReflection()->GetMessage(event, field));
  TextsToValues(&body);
  out["payload"] = {{"type", field->name()}, {"payload", std::move(body)}};
  return out;
}

std::string EncodeEvent(const Event& event) {
  return EventToJson(event).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Event> DecodeEvent(std::string_view line) {
  try {
    return FromLine(Json::parse(line));
  } catch (const Json::exception& error) {
    return Status(Code::kDataLoss, std::string("event: ") + error.what());
  }
}

std::string TypeName(const Event& event) {
  const FieldDescriptor* field = PayloadOf(event);
  return field == nullptr ? "" : field->name();
}

}  // namespace odyssey::message
