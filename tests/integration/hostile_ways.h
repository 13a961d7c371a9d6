#ifndef ODYSSEY_TESTS_INTEGRATION_HOSTILE_WAYS_H_
#define ODYSSEY_TESTS_INTEGRATION_HOSTILE_WAYS_H_

namespace odyssey::testing {

// What the program in rpc's place does to root. From 1: the number travels as a uid.
enum class HostileWay {
  // Root must end the peer.
  kRubbish = 1,
  kUnknownType,
  kRootsOwnMessage,
  kTruncated,
  kTrailing,
  kDescriptors,
  kTooLong,
  kMalformedPlan,
  kDoesNotRead,
  // Root must refuse.
  kForbiddenSource,
  kOwnState,
  kRootAsUser,
};

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_INTEGRATION_HOSTILE_WAYS_H_
