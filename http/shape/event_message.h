#ifndef ODYSSEY_HTTP_SHAPE_EVENT_MESSAGE_H_
#define ODYSSEY_HTTP_SHAPE_EVENT_MESSAGE_H_

// An event as a stream of HTTP has it: the JSON of journals (common/message/event_json.h) with
// UUIDs, and with the fields that the original Odyssey's EventMsg has beside ours (ADR 0067). Pure.

#include <string>
#include <string_view>

#include "common/message/message_json.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::shape {

message::Json EventMessage(agent::v1::Event event);

// One event of a stream (text/event-stream): "id: ID", unless it is empty, and the lines of the
// data.
std::string EventFrame(std::string_view id, std::string_view data);
// Of a stream's comment.
inline constexpr std::string_view kKeepAliveFrame = ": keep-alive\n\n";

// The sequence number that a client sent back as Last-Event-ID or ?after=. INVALID_ARGUMENT names
// `field`.
Result<uint64_t> ParseSequence(const std::string& field, std::string_view text);

}  // namespace odyssey::shape

#endif  // ODYSSEY_HTTP_SHAPE_EVENT_MESSAGE_H_
