#ifndef ODYSSEY_COMMON_MESSAGE_EVENT_JSON_H_
#define ODYSSEY_COMMON_MESSAGE_EVENT_JSON_H_

// Event ↔ JSON, as journals and `-o json` have it:
// {"id":…,"session_id":…,"sequence":N,"created_at":…,"payload":{"type":"turn_started","payload":{…}}}
// The inner payload has the fields of event.proto, with one difference: `arguments_json` and
// `result_json` are the JSON values themselves under "arguments" and "result". Pure.

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/message/message_json.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::message {

Json EventToJson(const agent::v1::Event& event);

// One line of a journal, without the newline; contains none. Invalid UTF-8 becomes U+FFFD.
std::string EncodeEvent(const agent::v1::Event& event);

// DATA_LOSS naming what is wrong: not JSON, an unknown type, a missing field.
Result<agent::v1::Event> DecodeEvent(std::string_view line);

// "turn_started", …; "" of an event without a payload.
std::string TypeName(const agent::v1::Event& event);

}  // namespace odyssey::message

#endif  // ODYSSEY_COMMON_MESSAGE_EVENT_JSON_H_
