#ifndef ODYSSEY_AGENTD_SERVICE_BUNDLE_SERVICE_H_
#define ODYSSEY_AGENTD_SERVICE_BUNDLE_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include "agentd/bundle/bundle_store.h"
#include "agentd/session/sessions.h"
#include "odyssey/agent/v1/bundle.grpc.pb.h"

namespace odyssey::service {

// bundle.proto over the store of bundles.
class BundleService final : public agent::v1::BundleService::Service {
 public:
  // Borrowed. `sessions` says what is pinned.
  BundleService(bundle::BundleStore* store, const session::Sessions* sessions)
      : store_(store), sessions_(sessions) {}

  grpc::Status BuildBundle(grpc::ServerContext*, const agent::v1::BuildBundleRequest*,
                           agent::v1::BuildBundleResponse*) override;
  grpc::Status ImportBundle(grpc::ServerContext*,
                            grpc::ServerReader<agent::v1::ImportBundleRequest>*,
                            agent::v1::ImportBundleResponse*) override;
  grpc::Status ListBundles(grpc::ServerContext*, const agent::v1::ListBundlesRequest*,
                           agent::v1::ListBundlesResponse*) override;
  grpc::Status InspectBundle(grpc::ServerContext*, const agent::v1::InspectBundleRequest*,
                             agent::v1::InspectBundleResponse*) override;
  grpc::Status ExportBundle(grpc::ServerContext*, const agent::v1::ExportBundleRequest*,
                            grpc::ServerWriter<agent::v1::ExportBundleResponse>*) override;
  grpc::Status RemoveBundle(grpc::ServerContext*, const agent::v1::RemoveBundleRequest*,
                            agent::v1::RemoveBundleResponse*) override;

 private:
  bundle::BundleStore* const store_;
  const session::Sessions* const sessions_;
};

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_BUNDLE_SERVICE_H_
