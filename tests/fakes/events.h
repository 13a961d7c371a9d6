#ifndef ODYSSEY_TESTS_FAKES_EVENTS_H_
#define ODYSSEY_TESTS_FAKES_EVENTS_H_

// Events for tests: written as text, compared by value.

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <string>

#include "common/base/status.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::agent::v1 {

// Found by EXPECT_EQ, and by == of containers, through the type's namespace.
inline bool operator==(const Event& a, const Event& b) {
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

}  // namespace odyssey::agent::v1

namespace odyssey::fakes {

// EventOf(R"(agent_message_delta { turn_id: "trn_1" delta: "x" })").
inline agent::v1::Event EventOf(const std::string& text) {
  agent::v1::Event out;
  ODY_CHECK(google::protobuf::TextFormat::ParseFromString(text, &out));
  return out;
}

// The event without what a journal stamps it with.
inline agent::v1::Event Unstamped(agent::v1::Event event) {
  event.clear_id();
  event.clear_session_id();
  event.clear_sequence();
  event.clear_created_at();
  return event;
}

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_EVENTS_H_
