#ifndef ODYSSEY_SUPERVISOR_RPC_CHANGES_SERVICE_H_
#define ODYSSEY_SUPERVISOR_RPC_CHANGES_SERVICE_H_

#include <map>
#include <memory>
#include <mutex>

#include "odyssey/supervisor/v1/changes.grpc.pb.h"
#include "policy/compile/review_plan.h"
#include "supervisor/rpc/broker.h"
#include "supervisor/rpc/review_cell.h"
#include "supervisor/rpc/reviewed_cells.h"
#include "supervisor/rpc/root_changes.h"

namespace odyssey::supervisor {

// Reviewed writes over gRPC: each call starts a review cell of its own, asks it, and ends it.
// Blocking.
class ChangesService final : public v1::Changes::Service {
 public:
  // All are borrowed and outlive the service.
  ChangesService(Broker* broker, ReviewedCells* reviewed, ImageStore* images)
      : broker_(broker), reviewed_(reviewed), root_(broker, images) {}

  grpc::Status ListReviewed(grpc::ServerContext* context, const v1::ListReviewedRequest* request,
                            v1::ListReviewedResponse* response) override;
  grpc::Status ListChanges(grpc::ServerContext* context, const v1::ListChangesRequest* request,
                           grpc::ServerWriter<v1::ListChangesResponse>* writer) override;
  grpc::Status DiffChanges(grpc::ServerContext* context, const v1::DiffChangesRequest* request,
                           grpc::ServerWriter<v1::DiffChangesResponse>* writer) override;
  grpc::Status CommitChanges(grpc::ServerContext* context, const v1::CommitChangesRequest* request,
                             v1::CommitChangesResponse* response) override;
  grpc::Status UndoCommits(grpc::ServerContext* context, const v1::UndoCommitsRequest* request,
                           v1::UndoCommitsResponse* response) override;
  grpc::Status DiscardChanges(grpc::ServerContext* context,
                              const v1::DiscardChangesRequest* request,
                              v1::DiscardChangesResponse* response) override;
  grpc::Status ListCommits(grpc::ServerContext* context, const v1::ListCommitsRequest* request,
                           v1::ListCommitsResponse* response) override;
  grpc::Status ForkCell(grpc::ServerContext* context, const v1::ForkCellRequest* request,
                        v1::ForkCellResponse* response) override;

 private:
  // What a call is about.
  struct Subject {
    PrepareSpec spec;
    plan::Plan plan;
    std::vector<compile::ReviewedDirectory> directories;
    std::shared_ptr<std::mutex> turn;  // one call at a time
  };

  Result<Subject> Find(const v1::CellKey& key);
  // Asks a review cell; before that, what a crash cut off is taken back.
  Result<review::End> Ask(const Subject& subject, compile::ReviewWrites writes,
                          const review::Request& request, const ReviewCell::Take& take);
  Result<review::End> AskOnce(const Subject& subject, compile::ReviewWrites writes,
                              const review::Request& request, const ReviewCell::Take& take);
  // With the cell ended meanwhile, since the upper layer is written to.
  Result<review::End> AskAlone(const Subject& subject, const review::Request& request,
                               const ReviewCell::Take& take);
  Status ListDirectories(const v1::ListChangesRequest& request,
                         grpc::ServerWriter<v1::ListChangesResponse>* writer);
  Status ListRoot(const v1::ListChangesRequest& request,
                  grpc::ServerWriter<v1::ListChangesResponse>* writer);
  Result<review::End> Diff(const v1::DiffChangesRequest& request, const ReviewCell::Take& take);
  // Asks a review cell of two cells' changes.
  Result<review::End> Compare(const Subject& subject, const v1::CellKey& against,
                              const review::Request& request, const ReviewCell::Take& take);
  // `known` is how the cell was asked for, if it has reviewed directories.
  Status CopyCell(const CellKey& from, const CellKey& to,
                  const Result<v1::PrepareCellRequest>& known);
  void Record(const char* what, const Subject& subject, const review::End& end, uint64_t refused);

  Broker* const broker_;
  ReviewedCells* const reviewed_;
  RootChanges root_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<std::mutex>> turns_;  // by cell tree
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_CHANGES_SERVICE_H_
