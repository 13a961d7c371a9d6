#include "http/shape/public_id.h"

#include <google/protobuf/descriptor.h>

#include <functional>

#include "agentd/session_file/session_file.h"

namespace odyssey::shape {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

struct Kind {
  std::string_view field, prefix;
};
// Fields of requests that name something by an id with 32 digits.
constexpr Kind kKinds[] = {{"session_id", "ses"},
                           {"cell_id", "ses"},
                           {"turn_id", "trn"},
                           {"request_id", "apr"},
                           {"grant_id", "apr"}};

constexpr size_t kPrefixBytes = 4;  // "ses_"
constexpr size_t kDigits = 32;

bool IsPrefixed(std::string_view text) {
  return text.size() == kPrefixBytes + kDigits && text[kPrefixBytes - 1] == '_' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == kPrefixBytes - 1 &&
         text.find_first_not_of("0123456789abcdef", kPrefixBytes) == std::string_view::npos;
}

bool IsOfIds(std::string_view field) {
  constexpr std::string_view kSuffix = "_id";
  return field == "id" || field == "forked_from" ||
         (field.size() > kSuffix.size() && field.substr(field.size() - kSuffix.size()) == kSuffix);
}

// Every string field that is there, deep.
void ForEachText(Message* message,
                 const std::function<std::string(std::string_view field, const std::string&)>& to) {
  const auto* reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool message_field = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (message_field && !field->is_map() && field->is_repeated()) {
      for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
        ForEachText(reflection->MutableRepeatedMessage(message, field, i), to);
      }
    } else if (message_field && !field->is_map()) {
      ForEachText(reflection->MutableMessage(message, field), to);
    } else if (field->type() == FieldDescriptor::TYPE_STRING && !field->is_repeated()) {
      std::string scratch;
      const std::string& text = reflection->GetStringReference(*message, field, &scratch);
      std::string other = to(field->name(), text);
      if (other != text) reflection->SetString(message, field, std::move(other));
    }
  }
}

}  // namespace

std::string PublicId(std::string_view id) {
  return IsPrefixed(id) ? session_file::UuidOf(id) : std::string(id);
}

void MakePublic(Message* message) {
  ForEachText(message, [](std::string_view field, const std::string& text) {
    return IsOfIds(field) ? PublicId(text) : text;
  });
}

std::string OwnId(std::string_view field, std::string_view text) {
  for (const Kind& kind : kKinds) {
    if (field != kind.field || !session_file::IsUuid(text)) continue;
    std::string id = session_file::IdOf(kind.prefix, text);
    for (char& c : id) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    return id;
  }
  return std::string(text);
}

void MakeOwn(Message* message) {
  ForEachText(message,
              [](std::string_view field, const std::string& text) { return OwnId(field, text); });
}

}  // namespace odyssey::shape
