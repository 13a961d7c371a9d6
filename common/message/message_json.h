#ifndef ODYSSEY_COMMON_MESSAGE_MESSAGE_JSON_H_
#define ODYSSEY_COMMON_MESSAGE_MESSAGE_JSON_H_

// A protobuf message as JSON for people and programs: `-o json`, journals, results for models.
// Pure.

#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>

#include "common/base/status.h"

namespace odyssey::message {

using Json = nlohmann::ordered_json;

// Every field under its proto name, absent ones with their default; numbers as numbers; an enum as
// its name without the prefix, in lower case ("running"); a oneof's only field that is set.
Json ToJson(const google::protobuf::Message& message);

// The reverse, for the types that events have: bool, numbers, strings, messages, lists of strings.
// DATA_LOSS: no object, an unknown field, a value of another type, or a field without presence is
// missing.
Status FromJson(const Json& json, google::protobuf::Message* message);

}  // namespace odyssey::message

#endif  // ODYSSEY_COMMON_MESSAGE_MESSAGE_JSON_H_
