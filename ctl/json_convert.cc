#include "ctl/json_convert.h"

#include <string>

namespace odyssey::ctl {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// TURN_STATUS_RUNNING of enum TurnStatus → "running".
std::string EnumName(const EnumValueDescriptor& value) {
  std::string prefix;
  for (const char c : value.type()->name()) {
    if (c >= 'A' && c <= 'Z' && !prefix.empty()) prefix += '_';
    prefix += c;
  }
  std::string name = value.name();
  if (name.size() > prefix.size() + 1) name.erase(0, prefix.size() + 1);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

Json Single(const Message& message, const FieldDescriptor* field) {
  const Reflection* reflection = message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection->GetBool(message, field);
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection->GetInt32(message, field);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection->GetInt64(message, field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection->GetUInt32(message, field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection->GetUInt64(message, field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection->GetDouble(message, field);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection->GetFloat(message, field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumName(*reflection->GetEnum(message, field));
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection->GetString(message, field);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(reflection->GetMessage(message, field));
  }
  return nullptr;
}

Json Item(const Message& message, const FieldDescriptor* field, int index) {
  const Reflection* reflection = message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection->GetRepeatedBool(message, field, index);
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection->GetRepeatedInt32(message, field, index);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection->GetRepeatedInt64(message, field, index);
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection->GetRepeatedUInt32(message, field, index);
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection->GetRepeatedUInt64(message, field, index);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection->GetRepeatedDouble(message, field, index);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection->GetRepeatedFloat(message, field, index);
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumName(*reflection->GetRepeatedEnum(message, field, index));
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection->GetRepeatedString(message, field, index);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(reflection->GetRepeatedMessage(message, field, index));
  }
  return nullptr;
}

Json Repeated(const Message& message, const FieldDescriptor* field) {
  const int size = message.GetReflection()->FieldSize(message, field);
  Json out = field->is_map() ? Json::object() : Json::array();
  for (int i = 0; i < size; ++i) {
    Json item = Item(message, field, i);
    if (field->is_map()) {
      out[item["key"].is_string() ? item["key"].get<std::string>() : item["key"].dump()] =
          item["value"];
    } else {
      out.push_back(std::move(item));
    }
  }
  return out;
}

// Replaces NAME_json, a JSON text, by NAME, its value.
void Unwrap(const std::string& name, Json* object) {
  const auto found = object->find(name + "_json");
  if (found == object->end()) return;
  const std::string text = found->get<std::string>();
  Json value = Json::parse(text, nullptr, false);
  (*object)[name] = value.is_discarded() ? Json(text) : std::move(value);
  object->erase(name + "_json");
}

}  // namespace

Json ToJson(const Message& message) {
  Json out = Json::object();
  const auto* descriptor = message.GetDescriptor();
  const Reflection* reflection = message.GetReflection();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (field->is_repeated()) {
      out[field->name()] = Repeated(message, field);
    } else if (!field->has_presence() || reflection->HasField(message, field)) {
      out[field->name()] = Single(message, field);
    }
  }
  return out;
}

Json EventToJson(const agent::v1::Event& event) {
  Json out = {{"id", event.id()},
              {"session_id", event.session_id()},
              {"sequence", event.sequence()},
              {"created_at", event.created_at()}};
  const auto* payload = event.GetDescriptor()->FindOneofByName("payload");
  const FieldDescriptor* field = event.GetReflection()->GetOneofFieldDescriptor(event, payload);
  if (field == nullptr) return out;
  Json body = ToJson(event.GetReflection()->GetMessage(event, field));
  Unwrap("arguments", &body);
  Unwrap("result", &body);
  out["payload"] = {{"type", field->name()}, {"payload", std::move(body)}};
  return out;
}

}  // namespace odyssey::ctl
