#include "agentd/service/changes_service.h"

#include <chrono>
#include <string_view>
#include <type_traits>

#include "agentd/sandbox/cell_key_proto.h"
#include "agentd/service/session_access.h"
#include "agentd/session/turn_setup.h"
#include "common/rpc/status_map.h"

namespace odyssey::service {
namespace {

namespace pb = supervisor::v1;
using rpc::ToGrpc;

// Files are copied one after another.
constexpr std::chrono::minutes kDeadline{10};

void SetDeadline(grpc::ClientContext* context) {
  context->set_deadline(std::chrono::system_clock::now() + kDeadline);
}

// The method that reads; "" of one that writes to the host or ends something, as the owner.
template <typename Request>
constexpr std::string_view NameOfReading() {
  if (std::is_same_v<Request, pb::ListChangesRequest>) return "ListChanges";
  if (std::is_same_v<Request, pb::DiffChangesRequest>) return "DiffChanges";
  if (std::is_same_v<Request, pb::ListCommitsRequest>) return "ListCommits";
  return "";
}

// The request with the key of the session's cell, if the session is for the caller. Only what reads
// is for admins.
template <typename Request>
Result<Request> ForSession(const session::Sessions& sessions, const grpc::ServerContext& context,
                           const Request& request) {
  constexpr std::string_view kReads = NameOfReading<Request>();
  const std::string& id = request.key().session_id();
  ODY_RETURN_IF_ERROR(kReads.empty() ? CheckCaller(sessions, id, context)
                                     : CheckCallerOrAdmin(sessions, id, context, kReads));
  ODY_ASSIGN_OR_RETURN(const session::SessionPtr record, sessions.Get(id));
  Request out = request;
  sandbox::ToProto(session::ToolingCell(*record), out.mutable_key());
  return out;
}

// The other session that a diff is against has to be for the caller too.
Status PutAgainst(const session::Sessions& sessions, const grpc::ServerContext& context,
                  pb::DiffChangesRequest* request) {
  if (!request->has_against()) return OkStatus();
  const std::string& id = request->against().session_id();
  ODY_RETURN_IF_ERROR(CheckCallerOrAdmin(sessions, id, context, "DiffChanges"));
  ODY_ASSIGN_OR_RETURN(const session::SessionPtr record, sessions.Get(id));
  sandbox::ToProto(session::ToolingCell(*record), request->mutable_against());
  return OkStatus();
}

template <typename Request, typename Response, typename Call>
grpc::Status PassOn(const session::Sessions& sessions, const grpc::ServerContext& context,
                    const Request& request, Response* response, Call call) {
  const Result<Request> passed = ForSession(sessions, context, request);
  if (!passed.ok()) return ToGrpc(passed.status());
  grpc::ClientContext client;
  SetDeadline(&client);
  return call(&client, *passed, response);
}

template <typename Response, typename Request, typename Call>
grpc::Status PassStream(const session::Sessions& sessions, const grpc::ServerContext& context,
                        const Request& request, grpc::ServerWriter<Response>* writer, Call call) {
  const Result<Request> passed = ForSession(sessions, context, request);
  if (!passed.ok()) return ToGrpc(passed.status());
  grpc::ClientContext client;
  SetDeadline(&client);
  const auto reader = call(&client, *passed);
  Response response;
  bool written = true;
  while (written && reader->Read(&response)) written = writer->Write(response);
  if (!written) client.TryCancel();  // the caller has gone
  return reader->Finish();
}

}  // namespace

grpc::Status ChangesService::ListReviewed(grpc::ServerContext* context,
                                          const pb::ListReviewedRequest*,
                                          pb::ListReviewedResponse* response) {
  const Result<Peer> peer = PeerOf(*sessions_, *context, "ListReviewed");
  if (!peer.ok()) return ToGrpc(peer.status());
  pb::ListReviewedResponse all;
  grpc::ClientContext client;
  SetDeadline(&client);
  const grpc::Status status = stub_->ListReviewed(&client, {}, &all);
  for (const pb::ReviewedCell& cell : all.cells()) {
    const Result<session::SessionPtr> record = sessions_->Get(cell.key().session_id());
    if (record.ok() && IsFor(**record, *peer)) *response->add_cells() = cell;
  }
  return status;
}

grpc::Status ChangesService::ListChanges(grpc::ServerContext* context,
                                         const pb::ListChangesRequest* request,
                                         grpc::ServerWriter<pb::ListChangesResponse>* writer) {
  return PassStream(*sessions_, *context, *request, writer,
                    [this](grpc::ClientContext* client, const auto& passed) {
                      return stub_->ListChanges(client, passed);
                    });
}

grpc::Status ChangesService::DiffChanges(grpc::ServerContext* context,
                                         const pb::DiffChangesRequest* request,
                                         grpc::ServerWriter<pb::DiffChangesResponse>* writer) {
  pb::DiffChangesRequest asked = *request;
  const Status status = PutAgainst(*sessions_, *context, &asked);
  if (!status.ok()) return ToGrpc(status);
  return PassStream(*sessions_, *context, asked, writer,
                    [this](grpc::ClientContext* client, const auto& passed) {
                      return stub_->DiffChanges(client, passed);
                    });
}

grpc::Status ChangesService::CommitChanges(grpc::ServerContext* context,
                                           const pb::CommitChangesRequest* request,
                                           pb::CommitChangesResponse* response) {
  return PassOn(*sessions_, *context, *request, response,
                [this](auto* client, const auto& passed, auto* out) {
                  return stub_->CommitChanges(client, passed, out);
                });
}

grpc::Status ChangesService::UndoCommits(grpc::ServerContext* context,
                                         const pb::UndoCommitsRequest* request,
                                         pb::UndoCommitsResponse* response) {
  return PassOn(*sessions_, *context, *request, response,
                [this](auto* client, const auto& passed, auto* out) {
                  return stub_->UndoCommits(client, passed, out);
                });
}

grpc::Status ChangesService::DiscardChanges(grpc::ServerContext* context,
                                            const pb::DiscardChangesRequest* request,
                                            pb::DiscardChangesResponse* response) {
  return PassOn(*sessions_, *context, *request, response,
                [this](auto* client, const auto& passed, auto* out) {
                  grpc::Status status;
                  // It ends the session's cell, which a turn may have in use between two commands.
                  const Status idle = sessions_->WhileIdle(passed.key().session_id(), [&] {
                    status = stub_->DiscardChanges(client, passed, out);
                    return OkStatus();
                  });
                  return idle.ok() ? status : ToGrpc(idle);
                });
}

grpc::Status ChangesService::ListCommits(grpc::ServerContext* context,
                                         const pb::ListCommitsRequest* request,
                                         pb::ListCommitsResponse* response) {
  return PassOn(*sessions_, *context, *request, response,
                [this](auto* client, const auto& passed, auto* out) {
                  return stub_->ListCommits(client, passed, out);
                });
}

}  // namespace odyssey::service
