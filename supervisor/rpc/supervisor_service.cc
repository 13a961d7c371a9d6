#include "supervisor/rpc/supervisor_service.h"

#include "common/base/version.h"
#include "common/rpc/peer_uid.h"
#include "common/rpc/status_map.h"
#include "policy/convert/sandbox_proto.h"
#include "supervisor/rpc/convert.h"
#include "supervisor/rpc/egress_health.h"
#include "supervisor/rpc/exec_denials.h"
#include "supervisor/rpc/exec_reactor.h"
#include "supervisor/rpc/file_op_proto.h"
#include "supervisor/rpc/transfer_calls.h"

namespace odyssey::supervisor {
namespace {

// The denial goes with the error, as its details: odyssey.supervisor.v1.Denial.
grpc::Status FileError(const FileAnswer& answer) {
  Status status(answer.response.code, DescribeFileError(answer.response, answer.denial));
  if (answer.response.code == Code::kAborted) {
    status = status.With({.field = "path", .value = answer.response.leads_to});
  }
  v1::Denial denial;
  if (answer.denial) ToProto(*answer.denial, "", &denial);
  return rpc::ToGrpc(status, answer.denial ? &denial : nullptr);
}

Feature DescribeAudit(const Status& state) {
  return {"audit", state.ok(), state.ok() ? "what happens is recorded" : state.message()};
}

}  // namespace

SupervisorService::SupervisorService(Broker* broker, ReviewedCells* reviewed,
                                     const StandingStore* standings, ImageStore* images)
    : broker_(broker),
      reviewed_(reviewed),
      standings_(standings),
      images_(images),
      features_(DescribeFeatures(broker->hello(), broker->facts())),
      policy_check_(broker->ceiling(), broker->find_image()) {}

std::vector<Feature> SupervisorService::LayersOf(const CellView& view) const {
  const bool unconfined = view.mode == policy::Mode::kDangerFullAccess;
  return unconfined ? DescribeHostLayers(view.host_uid) : features_;
}

grpc::Status SupervisorService::GetInfo(grpc::ServerContext*, const v1::GetInfoRequest*,
                                        v1::GetInfoResponse* response) {
  response->set_version(kVersion);
  for (const Feature& feature : features_) ToProto(feature, response->add_features());
  ToProto(broker_->ceiling()->Describe(), response->add_features());
  ToProto(broker_->host()->Describe(), response->add_features());
  ToProto(DescribeAudit(broker_->audit()->State()), response->add_features());
  ToProto(DescribeEgress(AskEgress(broker_->egress_socket())), response->add_features());
  *response->mutable_default_limits() = policy::ToProto(broker_->ceiling()->DefaultLimits());
  response->set_live_cells(broker_->live_cells());
  response->set_max_cells(broker_->hello().max_cells);
  return grpc::Status::OK;
}

grpc::Status SupervisorService::PrepareCell(grpc::ServerContext*,
                                            const v1::PrepareCellRequest* request,
                                            v1::PrepareCellResponse* response) {
  auto spec = FromProto(*request);
  if (!spec.ok()) return rpc::ToGrpc(spec.status());
  const bool known_use = images_->UseOf(spec->key).ok();
  const auto image = HoldImage(&*spec);
  if (!image.ok()) return rpc::ToGrpc(image.status());
  // Before it can change anything: its changes must be found again.
  if (policy::HasReviewedWrites(spec->sandbox)) {
    v1::PrepareCellRequest known = *request;
    if (!spec->sandbox.image.reference.empty()) {
      known.mutable_sandbox()->mutable_image()->set_reference(spec->sandbox.image.reference);
    }
    const Status remembered = reviewed_->Remember(known);
    if (!remembered.ok()) return rpc::ToGrpc(remembered);
  }
  bool created = false;
  const auto view = broker_->Prepare(*spec, &created);
  // Of a cell that was never there no directory is of the image.
  if (!view.ok() && !known_use && !broker_->IsLive(spec->key)) images_->ForgetUse(spec->key);
  if (!view.ok()) return rpc::ToGrpc(view.status());
  ToProto(*view, LayersOf(*view), response->mutable_cell());
  response->set_created(created);
  return grpc::Status::OK;
}

// The image stays while the cell is made, and then by the cell; its name is not looked up twice.
Result<LayerHold> SupervisorService::HoldImage(PrepareSpec* spec) {
  if (spec->sandbox.image.reference.empty()) return LayerHold();
  ODY_RETURN_IF_ERROR(CheckCellKey(spec->key));
  const bool lasts = !spec->sandbox.ephemeral && !spec->single_use;
  return images_->Use(spec->key, spec->owner_uid, lasts, &spec->sandbox.image);
}

grpc::Status SupervisorService::CheckCell(grpc::ServerContext*, const v1::CheckCellRequest* request,
                                          v1::CheckCellResponse*) {
  const auto spec = FromProto(request->cell());
  return rpc::ToGrpc(spec.ok() ? broker_->Check(*spec) : spec.status());
}

grpc::Status SupervisorService::CheckPolicy(grpc::ServerContext*,
                                            const v1::CheckPolicyRequest* request,
                                            v1::CheckPolicyResponse* response) {
  const auto now = request->has_cell() ? broker_->FactsNow() : nullptr;
  return rpc::ToGrpc(
      policy_check_.Answer(*request, now != nullptr ? *now : broker_->facts(), response));
}

grpc::Status SupervisorService::ListCells(grpc::ServerContext*, const v1::ListCellsRequest* request,
                                          v1::ListCellsResponse* response) {
  for (const CellView& view : broker_->List(request->all())) {
    ToProto(view, LayersOf(view), response->add_cells());
  }
  return grpc::Status::OK;
}

grpc::Status SupervisorService::DescribeCell(grpc::ServerContext*,
                                             const v1::DescribeCellRequest* request,
                                             v1::DescribeCellResponse* response) {
  const auto view = broker_->Describe(request->cell_id());
  if (!view.ok()) return rpc::ToGrpc(view.status());
  ToProto(*view, LayersOf(*view), response->mutable_cell());
  for (const std::string& line : view->explanation) response->add_plan(line);
  return grpc::Status::OK;
}

grpc::ServerBidiReactor<v1::ExecRequest, v1::ExecResponse>* SupervisorService::Exec(
    grpc::CallbackServerContext*) {
  return new ExecReactor(broker_);
}

grpc::Status SupervisorService::CancelExec(grpc::ServerContext*,
                                           const v1::CancelExecRequest* request,
                                           v1::CancelExecResponse*) {
  return rpc::ToGrpc(broker_->CancelExec(request->exec_id()));
}

grpc::Status SupervisorService::FileOp(grpc::ServerContext*, const v1::FileOpRequest* request,
                                       v1::FileOpResponse* response) {
  const auto op = FromProto(*request);
  if (!op.ok()) return rpc::ToGrpc(op.status());
  auto result = broker_->FileOp(request->cell_id(), *op);
  if (!result.ok()) return rpc::ToGrpc(result.status());
  if (result->response.code != Code::kOk) return FileError(*result);
  ToProto(op->op, std::move(result->response), response);
  return grpc::Status::OK;
}

grpc::Status SupervisorService::InjectFiles(grpc::ServerContext* context,
                                            grpc::ServerReader<v1::InjectFilesRequest>* reader,
                                            v1::InjectFilesResponse* response) {
  return rpc::ToGrpc(ReceiveFiles(broker_, *context, reader, response));
}

grpc::Status SupervisorService::CollectFiles(grpc::ServerContext*,
                                             const v1::CollectFilesRequest* request,
                                             grpc::ServerWriter<v1::CollectFilesResponse>* writer) {
  return rpc::ToGrpc(SendFiles(broker_, *request, writer));
}

grpc::Status SupervisorService::ChangeCell(grpc::ServerContext* context,
                                           const v1::ChangeCellRequest* request,
                                           v1::ChangeCellResponse* response) {
  const uid_t by_uid = rpc::PeerUid(context->peer());
  if (context->IsCancelled()) return rpc::ToGrpc(Cancelled("the client has gone"));
  const auto keep = [&](const CellView& view) {
    v1::CellInfo info;
    ToProto(view, {}, &info);
    const bool lasts = view.standing.phase == v1::CELL_PHASE_STOPPED ||
                       view.standing.phase == v1::CELL_PHASE_QUARANTINED;
    return lasts ? standings_->Save(info) : standings_->Erase(info.key());
  };
  const auto view = broker_->Change({.cell_id = request->cell_id(),
                                     .change = request->change(),
                                     .reason = request->reason(),
                                     .by_uid = by_uid},
                                    keep);
  if (!view.ok()) return rpc::ToGrpc(view.status());
  ToProto(*view, LayersOf(*view), response->mutable_cell());
  return grpc::Status::OK;
}

grpc::Status SupervisorService::RemoveCell(grpc::ServerContext* context,
                                           const v1::RemoveCellRequest* request,
                                           v1::RemoveCellResponse*) {
  const uid_t by_uid = rpc::PeerUid(context->peer());
  if (context->IsCancelled()) return rpc::ToGrpc(Cancelled("the client has gone"));
  const Result<CellView> view = broker_->Describe(request->cell_id());
  const Status removed = broker_->Remove(request->cell_id(), request->purge(), by_uid);
  if (removed.ok() && request->purge() && view.ok()) {
    // Its changes went with its directories.
    v1::CellInfo info;
    ToProto(*view, {}, &info);
    reviewed_->Forget(info.key());
    images_->ForgetUse(view->key);
  }
  return rpc::ToGrpc(removed);
}

grpc::Status SupervisorService::RecordApproval(grpc::ServerContext* context,
                                               const v1::RecordApprovalRequest* request,
                                               v1::RecordApprovalResponse*) {
  const uid_t reporter = rpc::PeerUid(context->peer());
  if (context->IsCancelled()) return rpc::ToGrpc(Cancelled("the client has gone"));
  return rpc::ToGrpc(broker_->RecordApproval(*request, reporter));
}

}  // namespace odyssey::supervisor
