#include "common/message/message_json.h"

#include <string>
#include <utility>
#include <vector>

#include "common/message/enum_name.h"

namespace odyssey::message {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

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

Status DataLoss(const std::string& what) { return {Code::kDataLoss, what}; }

Status SetEnum(const std::string& name, Message* message, const FieldDescriptor* field) {
  for (int i = 0; i < field->enum_type()->value_count(); ++i) {
    const EnumValueDescriptor* value = field->enum_type()->value(i);
    if (EnumName(*value) != name) continue;
    message->GetReflection()->SetEnum(message, field, value);
    return OkStatus();
  }
  return DataLoss("field " + field->full_name() + ": no value has this name");
}

// Sets the field, which is not repeated, from a value of its type. Throws on another type.
Status Set(const Json& value, Message* message, const FieldDescriptor* field) {
  const Reflection* reflection = message->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      reflection->SetBool(message, field, value.get<bool>());
      return OkStatus();
    case FieldDescriptor::CPPTYPE_INT32:
      reflection->SetInt32(message, field, value.get<int32_t>());
      return OkStatus();
    case FieldDescriptor::CPPTYPE_UINT32:
      reflection->SetUInt32(message, field, value.get<uint32_t>());
      return OkStatus();
    case FieldDescriptor::CPPTYPE_UINT64:
      reflection->SetUInt64(message, field, value.get<uint64_t>());
      return OkStatus();
    case FieldDescriptor::CPPTYPE_STRING:
      reflection->SetString(message, field, value.get<std::string>());
      return OkStatus();
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return FromJson(value, reflection->MutableMessage(message, field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return SetEnum(value.get<std::string>(), message, field);
    default:
      return Internal("field " + field->full_name() + ": its type is not read from JSON");
  }
}

Status Add(const Json& values, Message* message, const FieldDescriptor* field) {
  const Reflection* reflection = message->GetReflection();
  if (!field->is_map() && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    for (const auto& value : values.get<std::vector<Json>>()) {
      ODY_RETURN_IF_ERROR(FromJson(value, reflection->AddMessage(message, field)));
    }
    return OkStatus();
  }
  if (field->is_map() || field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
    return Internal("field " + field->full_name() + ": its type is not read from JSON");
  }
  for (const auto& value : values.get<std::vector<std::string>>()) {
    reflection->AddString(message, field, value);
  }
  return OkStatus();
}

Status ReadFields(const Json& json, Message* message) {
  const auto* descriptor = message->GetDescriptor();
  size_t read = 0;
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    const auto value = json.find(field->name());
    if (value == json.end()) {
      if (!field->is_repeated() && field->has_presence()) continue;
      return DataLoss("field " + field->full_name() + ": missing");
    }
    ++read;
    ODY_RETURN_IF_ERROR(field->is_repeated() ? Add(*value, message, field)
                                             : Set(*value, message, field));
  }
  // A field that an earlier version wrote and this one has no more.
  for (const auto& [name, value] : json.items()) read += descriptor->IsReservedName(name) ? 1 : 0;
  if (read == json.size()) return OkStatus();
  return DataLoss(descriptor->full_name() + ": an unknown field");
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

Status FromJson(const Json& json, Message* message) {
  if (!json.is_object()) return DataLoss(message->GetTypeName() + ": not an object");
  try {
    return ReadFields(json, message);
  } catch (const Json::exception& error) {
    return DataLoss(message->GetTypeName() + ": " + error.what());
  }
}

}  // namespace odyssey::message
