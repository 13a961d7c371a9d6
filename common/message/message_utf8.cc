#include "common/message/message_utf8.h"

#include <string>
#include <vector>

#include "common/base/utf8.h"

namespace odyssey::message {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void SanitizeString(Message* message, const FieldDescriptor* field) {
  const Reflection* reflection = message->GetReflection();
  std::string scratch;
  const std::string& text = reflection->GetStringReference(*message, field, &scratch);
  if (!IsValidUtf8(text)) reflection->SetString(message, field, SanitizeUtf8(text));
}

void SanitizeRepeated(Message* message, const FieldDescriptor* field) {
  const Reflection* reflection = message->GetReflection();
  const int size = reflection->FieldSize(*message, field);
  for (int i = 0; i < size; ++i) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      SanitizeStrings(reflection->MutableRepeatedMessage(message, field, i));
      continue;
    }
    std::string text = reflection->GetRepeatedString(*message, field, i);
    if (!IsValidUtf8(text)) {
      reflection->SetRepeatedString(message, field, i, SanitizeUtf8(text));
    }
  }
}

}  // namespace

void SanitizeStrings(Message* message) {
  std::vector<const FieldDescriptor*> set;
  message->GetReflection()->ListFields(*message, &set);
  for (const FieldDescriptor* field : set) {
    const bool nested = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field->is_map() || (!nested && field->type() != FieldDescriptor::TYPE_STRING)) continue;
    if (field->is_repeated()) {
      SanitizeRepeated(message, field);
    } else if (nested) {
      SanitizeStrings(message->GetReflection()->MutableMessage(message, field));
    } else {
      SanitizeString(message, field);
    }
  }
}

}  // namespace odyssey::message
