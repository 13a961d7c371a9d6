#ifndef ODYSSEY_TESTS_TESTING_RAW_CALL_H_
#define ODYSSEY_TESTS_TESTING_RAW_CALL_H_

// Calls of services that are known by name only: gRPC's own, for which Debian has no headers.

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <vector>

namespace odyssey::testing {

struct RawAnswer {
  grpc::Status status;
  std::string bytes;  // of the first message, encoded
};

// One message to "/package.Service/Method", and its answer. Blocking.
RawAnswer CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                  const std::string& request);

// What the health service says of a service: "SERVING", "NOT_FOUND", or what else it answered.
std::string AskHealth(const std::shared_ptr<grpc::Channel>& channel, const std::string& service);

// The full names of the services that reflection lists.
std::vector<std::string> ListServices(const std::shared_ptr<grpc::Channel>& channel);

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_TESTING_RAW_CALL_H_
