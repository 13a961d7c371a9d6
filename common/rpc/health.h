#ifndef ODYSSEY_COMMON_RPC_HEALTH_H_
#define ODYSSEY_COMMON_RPC_HEALTH_H_

// The health service of a daemon: grpc.health.v1.Health, as gRPC has it.

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <vector>

namespace odyssey::rpc {

// Starts the server with a health service that answers SERVING for the server as a whole, whose
// name is "", and for each of `services` by its full name; NOT_FOUND for every other. nullptr: it
// cannot start. Of one thread at a time: gRPC's switch for this is the process's.
std::unique_ptr<grpc::Server> StartWithHealth(grpc::ServerBuilder* builder,
                                              const std::vector<std::string>& services);

}  // namespace odyssey::rpc

#endif  // ODYSSEY_COMMON_RPC_HEALTH_H_
