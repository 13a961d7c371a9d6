#ifndef ODYSSEY_HTTP_SHAPE_MESSAGE_BODY_H_
#define ODYSSEY_HTTP_SHAPE_MESSAGE_BODY_H_

// A protobuf message as the body of a request or an answer, in protobuf's JSON mapping with the
// fields' own names. Pure.

#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::shape {

using Json = nlohmann::ordered_json;

// INVALID_ARGUMENT: it is no JSON object; says at which byte. An empty body is {}.
Result<Json> ParseObject(std::string_view body);

// INVALID_ARGUMENT: the object does not fit the message, or has a field that it has not.
Status ReadMessage(const Json& object, google::protobuf::Message* message);

// Every field without presence, also where it is empty.
std::string WriteMessage(const google::protobuf::Message& message);

// Sets "a.b" from the text of a path or a query. INVALID_ARGUMENT names the field: it is no such
// number, or "true" or "false".
Status SetField(std::string_view field, const std::string& text,
                google::protobuf::Message* message);

}  // namespace odyssey::shape

#endif  // ODYSSEY_HTTP_SHAPE_MESSAGE_BODY_H_
