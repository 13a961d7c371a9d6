#include "ctl/client/message_text.h"

#include <google/protobuf/stubs/logging.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/utf8.h"

namespace odyssey::ctl {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

Status FindWrongText(const Message& message);

// The field of `message` at `index`, -1 if it is not repeated.
Status CheckField(const Message& message, const FieldDescriptor& field, int index,
                  const std::string& path) {
  const auto& reflection = *message.GetReflection();
  const bool one = index < 0;
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const Message& inner = one ? reflection.GetMessage(message, &field)
                               : reflection.GetRepeatedMessage(message, &field, index);
    const Status status = FindWrongText(inner);
    return status.ok() ? status : InvalidArgument(path + "." + status.message());
  }
  if (field.type() != FieldDescriptor::TYPE_STRING) return OkStatus();
  const std::string text = one ? reflection.GetString(message, &field)
                               : reflection.GetRepeatedString(message, &field, index);
  if (IsValidUtf8(text)) return OkStatus();
  return InvalidArgument(path + ": not UTF-8; only text can be given");
}

// "mounts[1]", "env[NAME]".
std::string ElementName(const Message& message, const FieldDescriptor& field, int index) {
  std::string in_brackets = std::to_string(index);
  if (field.is_map()) {
    const Message& entry = message.GetReflection()->GetRepeatedMessage(message, &field, index);
    const FieldDescriptor* key = entry.GetDescriptor()->map_key();
    if (key->type() == FieldDescriptor::TYPE_STRING) {
      in_brackets = entry.GetReflection()->GetString(entry, key);
    }
  }
  return field.name() + "[" + in_brackets + "]";
}

// Without descriptors, which take a millisecond to build: a message with text that is none does not
// parse.
bool IsAllText(const Message& message) {
  const google::protobuf::LogSilencer silencer;
  const std::unique_ptr<Message> copy(message.New());
  return copy->ParseFromString(message.SerializePartialAsString());
}

Status FindWrongText(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (!field->is_repeated()) {
      ODY_RETURN_IF_ERROR(CheckField(message, *field, -1, field->name()));
      continue;
    }
    const int size = message.GetReflection()->FieldSize(message, field);
    for (int i = 0; i < size; ++i) {
      ODY_RETURN_IF_ERROR(CheckField(message, *field, i, ElementName(message, *field, i)));
    }
  }
  return OkStatus();
}

}  // namespace

Status CheckText(const Message& message) {
  return IsAllText(message) ? OkStatus() : FindWrongText(message);
}

}  // namespace odyssey::ctl
