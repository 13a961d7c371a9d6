#ifndef ODYSSEY_CTL_JSON_CONVERT_H_
#define ODYSSEY_CTL_JSON_CONVERT_H_

// RPC messages as JSON for `-o json`. Pure.

#include <google/protobuf/message.h>

#include "ctl/console.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::ctl {

// Every field under its proto name, absent ones with their default; numbers as numbers; an enum as
// its name without the prefix, in lower case ("running"); a oneof's only field that is set.
Json ToJson(const google::protobuf::Message& message);

// {id, session_id, sequence, created_at, payload: {type: "tool_call_started", payload: {…}}}, with
// arguments and results as JSON values instead of text.
Json EventToJson(const agent::v1::Event& event);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_JSON_CONVERT_H_
