#ifndef ODYSSEY_SUPERVISOR_RPC_SUPERVISOR_SERVICE_H_
#define ODYSSEY_SUPERVISOR_RPC_SUPERVISOR_SERVICE_H_

#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"
#include "supervisor/rpc/broker.h"
#include "supervisor/rpc/image_store.h"
#include "supervisor/rpc/policy_check.h"
#include "supervisor/rpc/reviewed_cells.h"
#include "supervisor/rpc/standing_store.h"

namespace odyssey::supervisor {

// The gRPC face of the broker: converts and calls, nothing else. Exec is a callback reactor, the
// rest are blocking calls.
class SupervisorService final
    : public v1::Supervisor::WithCallbackMethod_Exec<v1::Supervisor::Service> {
 public:
  // All are borrowed and outlive the service.
  SupervisorService(Broker* broker, ReviewedCells* reviewed, const StandingStore* standings,
                    ImageStore* images);

  grpc::Status GetInfo(grpc::ServerContext* context, const v1::GetInfoRequest* request,
                       v1::GetInfoResponse* response) override;
  grpc::Status PrepareCell(grpc::ServerContext* context, const v1::PrepareCellRequest* request,
                           v1::PrepareCellResponse* response) override;
  grpc::Status CheckCell(grpc::ServerContext* context, const v1::CheckCellRequest* request,
                         v1::CheckCellResponse* response) override;
  grpc::Status CheckPolicy(grpc::ServerContext* context, const v1::CheckPolicyRequest* request,
                           v1::CheckPolicyResponse* response) override;
  grpc::Status ListCells(grpc::ServerContext* context, const v1::ListCellsRequest* request,
                         v1::ListCellsResponse* response) override;
  grpc::Status DescribeCell(grpc::ServerContext* context, const v1::DescribeCellRequest* request,
                            v1::DescribeCellResponse* response) override;
  grpc::ServerBidiReactor<v1::ExecRequest, v1::ExecResponse>* Exec(
      grpc::CallbackServerContext* context) override;
  grpc::Status CancelExec(grpc::ServerContext* context, const v1::CancelExecRequest* request,
                          v1::CancelExecResponse* response) override;
  grpc::Status FileOp(grpc::ServerContext* context, const v1::FileOpRequest* request,
                      v1::FileOpResponse* response) override;
  grpc::Status InjectFiles(grpc::ServerContext* context,
                           grpc::ServerReader<v1::InjectFilesRequest>* reader,
                           v1::InjectFilesResponse* response) override;
  grpc::Status CollectFiles(grpc::ServerContext* context, const v1::CollectFilesRequest* request,
                            grpc::ServerWriter<v1::CollectFilesResponse>* writer) override;
  grpc::Status ChangeCell(grpc::ServerContext* context, const v1::ChangeCellRequest* request,
                          v1::ChangeCellResponse* response) override;
  grpc::Status RemoveCell(grpc::ServerContext* context, const v1::RemoveCellRequest* request,
                          v1::RemoveCellResponse* response) override;
  grpc::Status RecordApproval(grpc::ServerContext* context,
                              const v1::RecordApprovalRequest* request,
                              v1::RecordApprovalResponse* response) override;

 private:
  std::vector<Feature> LayersOf(const CellView& view) const;
  Result<LayerHold> HoldImage(PrepareSpec* spec);

  Broker* const broker_;
  ReviewedCells* const reviewed_;
  const StandingStore* const standings_;
  ImageStore* const images_;
  const std::vector<Feature> features_;
  PolicyCheck policy_check_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_SUPERVISOR_SERVICE_H_
