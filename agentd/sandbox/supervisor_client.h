#ifndef ODYSSEY_AGENTD_SANDBOX_SUPERVISOR_CLIENT_H_
#define ODYSSEY_AGENTD_SANDBOX_SUPERVISOR_CLIENT_H_

// The Sandbox that is the supervisor, over gRPC on its Unix socket.

#include <memory>
#include <string>

#include "agentd/sandbox/sandbox.h"

namespace grpc {
class Channel;
}

namespace odyssey::sandbox {

// The channel to a supervisor: connects when it is first used, reconnects quickly, and carries
// messages of up to 17 MiB.
std::shared_ptr<grpc::Channel> OpenSupervisorChannel(const std::string& socket_path);

// `socket_path` is named in errors.
std::unique_ptr<Sandbox> NewSupervisorClient(std::shared_ptr<grpc::Channel> channel,
                                             std::string socket_path);

}  // namespace odyssey::sandbox

#endif  // ODYSSEY_AGENTD_SANDBOX_SUPERVISOR_CLIENT_H_
