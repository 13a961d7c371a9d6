#ifndef ODYSSEY_AGENTD_EVENT_EVENT_JSON_H_
#define ODYSSEY_AGENTD_EVENT_EVENT_JSON_H_

// Event ↔ one line of JSON:
// {"id":…,"session_id":…,"sequence":N,"created_at":…,"payload":{"type":"turn_started","payload":{…}}}
// The inner payload has the fields of event.proto, with two differences: `arguments_json` and
// `result_json` are the JSON values themselves under "arguments" and "result".

#include <string>
#include <string_view>

#include "agentd/event/event.h"
#include "common/base/status.h"

namespace odyssey::event {

// Without the newline; contains none. Invalid UTF-8 becomes U+FFFD.
std::string EncodeEvent(const Event& event);

// DATA_LOSS naming what is wrong: not JSON, an unknown type, a missing field.
Result<Event> DecodeEvent(std::string_view line);

// "turn_started", …
std::string_view TypeName(const Payload& payload);

}  // namespace odyssey::event

#endif  // ODYSSEY_AGENTD_EVENT_EVENT_JSON_H_
