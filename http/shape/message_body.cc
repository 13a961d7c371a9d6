#include "http/shape/message_body.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <charconv>
#include <utility>

#include "common/base/refusal.h"

namespace odyssey::shape {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
namespace util = google::protobuf::util;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <typename Number>
Status SetNumber(std::string_view name, const std::string& text, Number* out) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *out);
  if (error == std::errc() && stop == end) return OkStatus();
  return Refused(Code::kInvalidArgument, std::string(name), text, "must be a number of its range");
}

}  // namespace

Result<Json> ParseObject(std::string_view body) {
  if (body.empty()) return Json::object();
  try {
    Json out = Json::parse(body);
    if (out.is_object()) return out;
    return InvalidArgument("body: must be a JSON object");
  } catch (const Json::parse_error& error) {
    return InvalidArgument("body: not JSON at byte " + std::to_string(error.byte));
  } catch (const Json::exception&) {
    return InvalidArgument("body: not JSON");
  }
}

Status ReadMessage(const Json& object, Message* message) {
  util::JsonParseOptions options;
  options.case_insensitive_enum_parsing = true;
  const auto read = util::JsonStringToMessage(Dump(object), message, options);
  if (read.ok()) return OkStatus();
  return InvalidArgument("body: " + std::string(read.message()));
}

std::string WriteMessage(const Message& message) {
  util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string out;
  ODY_CHECK(util::MessageToJsonString(message, &out, options).ok());
  return out;
}

Status SetField(std::string_view field, const std::string& text, Message* message) {
  const size_t dot = field.find('.');
  const FieldDescriptor* found =
      message->GetDescriptor()->FindFieldByName(std::string(field.substr(0, dot)));
  ODY_CHECK(found != nullptr);
  const auto* reflection = message->GetReflection();
  if (dot != std::string_view::npos) {
    return SetField(field.substr(dot + 1), text, reflection->MutableMessage(message, found));
  }
  switch (found->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      reflection->SetString(message, found, text);
      return OkStatus();
    case FieldDescriptor::CPPTYPE_BOOL:
      if (text != "true" && text != "false") {
        return Refused(Code::kInvalidArgument, found->name(), text, "must be true or false");
      }
      reflection->SetBool(message, found, text == "true");
      return OkStatus();
    case FieldDescriptor::CPPTYPE_UINT64: {
      uint64_t number = 0;
      ODY_RETURN_IF_ERROR(SetNumber(found->name(), text, &number));
      reflection->SetUInt64(message, found, number);
      return OkStatus();
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      uint32_t number = 0;
      ODY_RETURN_IF_ERROR(SetNumber(found->name(), text, &number));
      reflection->SetUInt32(message, found, number);
      return OkStatus();
    }
    default:
      ODY_CHECK(false && "a route's parameter has a type that SetField does not read");
  }
  return OkStatus();
}

}  // namespace odyssey::shape
