#include "common/rpc/health.h"

#include <grpcpp/health_check_service_interface.h>

namespace odyssey::rpc {

std::unique_ptr<grpc::Server> StartWithHealth(grpc::ServerBuilder* builder,
                                              const std::vector<std::string>& services) {
  grpc::EnableDefaultHealthCheckService(true);
  std::unique_ptr<grpc::Server> server = builder->BuildAndStart();
  if (server == nullptr) return nullptr;
  for (const std::string& name : services) {
    server->GetHealthCheckService()->SetServingStatus(name, true);
  }
  return server;
}

}  // namespace odyssey::rpc
