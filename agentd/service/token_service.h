#ifndef ODYSSEY_AGENTD_SERVICE_TOKEN_SERVICE_H_
#define ODYSSEY_AGENTD_SERVICE_TOKEN_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include "agentd/session/runtime.h"
#include "odyssey/agent/v1/token.grpc.pb.h"

namespace odyssey::service {

// Tokens of the caller.
class TokenService final : public agent::v1::TokenService::Service {
 public:
  // `runtime` is borrowed and outlives the service.
  explicit TokenService(const session::Runtime* runtime) : runtime_(runtime) {}

  grpc::Status CreateToken(grpc::ServerContext* context,
                           const agent::v1::CreateTokenRequest* request,
                           agent::v1::CreateTokenResponse* response) override;
  grpc::Status ListTokens(grpc::ServerContext* context, const agent::v1::ListTokensRequest* request,
                          agent::v1::ListTokensResponse* response) override;
  grpc::Status RevokeToken(grpc::ServerContext* context,
                           const agent::v1::RevokeTokenRequest* request,
                           agent::v1::RevokeTokenResponse* response) override;
  grpc::Status CreateLink(grpc::ServerContext* context, const agent::v1::CreateLinkRequest* request,
                          agent::v1::CreateLinkResponse* response) override;
  grpc::Status ExchangeLink(grpc::ServerContext* context,
                            const agent::v1::ExchangeLinkRequest* request,
                            agent::v1::ExchangeLinkResponse* response) override;

 private:
  const session::Runtime* const runtime_;
};

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_TOKEN_SERVICE_H_
