#ifndef ODYSSEY_SUPERVISOR_EGRESS_H2_EVENT_H_
#define ODYSSEY_SUPERVISOR_EGRESS_H2_EVENT_H_

// What a peer did on one stream of a connection, in the order in which it did it.

#include <cstdint>
#include <string>
#include <variant>

#include "supervisor/egress/http/field.h"
#include "supervisor/egress/http/parsed.h"
#include "supervisor/egress/http/request_head.h"
#include "supervisor/egress/http/response_head.h"

namespace odyssey::egress::h2 {

// Of RFC 9113 section 7.
enum class ErrorCode : uint32_t {
  kNoError = 0,
  kProtocolError = 1,
  kInternalError = 2,
  kRefusedStream = 7,
  kCancel = 8,
  kEnhanceYourCalm = 11,
};

using StreamId = int32_t;

// A stream begins: towards the client with kRequest or kUnreadable, or is kRejected at once.
struct Event {
  enum class Kind {
    kRequest,     // `request`
    kUnreadable,  // a request whose head is none; `error` is its answer, which is still to be sent
    kResponse,    // `response`, never one with 1xx
    kData,        // `bytes`; to be credited when they were taken
    kEnd,         // of the body; `trailers` may be empty
    kRejected,    // what came is malformed: `error` says why; kClosed follows. Of stream 0: the
                  // connection is ended
    kTaken,       // all bytes that were sent on this stream are in frames
    kClosed,      // the last one: it was reset with `code`, or both sides ended
  };
  Kind kind = Kind::kClosed;
  StreamId stream = 0;
  bool ended = false;  // of a head: no body follows, nor kEnd
  http::RequestHead request;
  http::ResponseHead response;
  std::string bytes;
  http::Fields trailers;
  http::ParseError error;
  ErrorCode code = ErrorCode::kNoError;
};

}  // namespace odyssey::egress::h2

#endif  // ODYSSEY_SUPERVISOR_EGRESS_H2_EVENT_H_
