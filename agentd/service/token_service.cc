#include "agentd/service/token_service.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "agentd/service/session_access.h"
#include "common/rpc/status_map.h"

namespace odyssey::service {
namespace {

namespace pb = agent::v1;
using rpc::ToGrpc;

pb::Token ToProto(const token::Token& token) {
  pb::Token out;
  out.set_id(token.id);
  out.set_name(token.name);
  out.set_owner_uid(token.owner);
  out.set_created_at(agent::FormatTime(token.created));
  out.set_expires_at(agent::FormatTime(token.expires));
  out.set_of_link(token.of_link);
  return out;
}

std::chrono::milliseconds LifetimeOf(uint64_t ms) {
  if (ms == 0) return token::kDefaultLifetime;
  const auto most = static_cast<uint64_t>(std::chrono::milliseconds::max().count());
  return std::chrono::milliseconds(static_cast<int64_t>(std::min(ms, most)));
}

// Root sees and removes those of all.
std::optional<uid_t> OwnerFor(uid_t caller) {
  return caller == 0 ? std::nullopt : std::optional<uid_t>(caller);
}

}  // namespace

grpc::Status TokenService::CreateToken(grpc::ServerContext* context,
                                       const pb::CreateTokenRequest* request,
                                       pb::CreateTokenResponse* response) {
  const Result<uid_t> caller = CallerOfConnection(*runtime_, *context);
  if (!caller.ok()) return ToGrpc(caller.status());
  Result<token::NewToken> made =
      runtime_->tokens->Create(*caller, request->name(), LifetimeOf(request->lifetime_ms()));
  if (!made.ok()) return ToGrpc(made.status());
  *response->mutable_token() = ToProto(made->token);
  response->set_secret(std::move(made->secret));
  return grpc::Status::OK;
}

grpc::Status TokenService::ListTokens(grpc::ServerContext* context, const pb::ListTokensRequest*,
                                      pb::ListTokensResponse* response) {
  const Result<uid_t> caller = CallerOfConnection(*runtime_, *context);
  if (!caller.ok()) return ToGrpc(caller.status());
  for (const token::Token& each : runtime_->tokens->List(OwnerFor(*caller))) {
    *response->add_tokens() = ToProto(each);
  }
  return grpc::Status::OK;
}

grpc::Status TokenService::RevokeToken(grpc::ServerContext* context,
                                       const pb::RevokeTokenRequest* request,
                                       pb::RevokeTokenResponse* response) {
  const Result<Caller> caller = CallerWithToken(*runtime_, *context);
  if (!caller.ok()) return ToGrpc(caller.status());
  const std::string& id = request->token_id().empty() ? caller->token_id : request->token_id();
  // A token that was stolen must not end others.
  if (!caller->token_id.empty() && caller->token_id != id) {
    return ToGrpc(CallerOfConnection(*runtime_, *context).status());
  }
  const Result<token::Token> revoked = runtime_->tokens->Revoke(id, OwnerFor(caller->uid));
  if (!revoked.ok()) return ToGrpc(revoked.status());
  *response->mutable_token() = ToProto(*revoked);
  return grpc::Status::OK;
}

grpc::Status TokenService::CreateLink(grpc::ServerContext* context, const pb::CreateLinkRequest*,
                                      pb::CreateLinkResponse* response) {
  const Result<uid_t> caller = CallerOfConnection(*runtime_, *context);
  if (!caller.ok()) return ToGrpc(caller.status());
  if (!runtime_->http_uid) {
    return ToGrpc(FailedPrecondition(
        "this agentd has no --http-uid, so no link could be used; start odyssey-http with it"));
  }
  Result<token::NewLink> made = runtime_->tokens->CreateLink(*caller);
  if (!made.ok()) return ToGrpc(made.status());
  response->set_secret(std::move(made->secret));
  response->set_expires_at(agent::FormatTime(made->expires));
  return grpc::Status::OK;
}

grpc::Status TokenService::ExchangeLink(grpc::ServerContext* context,
                                        const pb::ExchangeLinkRequest* request,
                                        pb::ExchangeLinkResponse* response) {
  const Status may = CheckIsHttp(*runtime_, *context);
  if (!may.ok()) return ToGrpc(may);
  Result<token::NewToken> made = runtime_->tokens->Exchange(request->secret());
  if (!made.ok()) return ToGrpc(made.status());
  *response->mutable_token() = ToProto(made->token);
  response->set_secret(std::move(made->secret));
  return grpc::Status::OK;
}

}  // namespace odyssey::service
