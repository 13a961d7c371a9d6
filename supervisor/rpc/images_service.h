#ifndef ODYSSEY_SUPERVISOR_RPC_IMAGES_SERVICE_H_
#define ODYSSEY_SUPERVISOR_RPC_IMAGES_SERVICE_H_

#include "odyssey/supervisor/v1/image.grpc.pb.h"
#include "supervisor/rpc/broker.h"
#include "supervisor/rpc/image_store.h"

namespace odyssey::supervisor {

// The image store over gRPC. Blocking.
class ImagesService final : public v1::Images::Service {
 public:
  // Both are borrowed and outlive the service.
  ImagesService(Broker* broker, ImageStore* store) : broker_(broker), store_(store) {}

  grpc::Status ImportImage(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::ImportImageResponse, v1::ImportImageRequest>* stream) override;
  grpc::Status CommitImage(grpc::ServerContext* context, const v1::CommitImageRequest* request,
                           v1::CommitImageResponse* response) override;
  grpc::Status ListImages(grpc::ServerContext* context, const v1::ListImagesRequest* request,
                          v1::ListImagesResponse* response) override;
  grpc::Status InspectImage(grpc::ServerContext* context, const v1::InspectImageRequest* request,
                            v1::InspectImageResponse* response) override;
  grpc::Status ReadImageFiles(grpc::ServerContext* context,
                              const v1::ReadImageFilesRequest* request,
                              grpc::ServerWriter<v1::ReadImageFilesResponse>* writer) override;
  grpc::Status RemoveImage(grpc::ServerContext* context, const v1::RemoveImageRequest* request,
                           v1::RemoveImageResponse* response) override;
  grpc::Status CollectImages(grpc::ServerContext* context, const v1::CollectImagesRequest* request,
                             v1::CollectImagesResponse* response) override;

 private:
  using ImportStream = grpc::ServerReaderWriter<v1::ImportImageResponse, v1::ImportImageRequest>;

  // FAILED_PRECONDITION: the supervisor runs without root. RESOURCE_EXHAUSTED: nothing can be
  // recorded.
  Status CheckMay();
  Result<v1::ImageInfo> Import(const grpc::ServerContext& context, ImportStream* stream,
                               v1::ImportImageStart* start);
  Status ReceiveLayer(const grpc::ServerContext& context, ImportStream* stream,
                      const std::string& digest, ImageImport* import);
  Result<v1::ImageInfo> Commit(const v1::CommitImageRequest& request);
  Status Read(const grpc::ServerContext& context, const v1::ReadImageFilesRequest& request,
              grpc::ServerWriter<v1::ReadImageFilesResponse>* writer);
  void Record(const char* what, uint32_t owner_uid, const std::string& name,
              const Result<v1::ImageInfo>& image);

  Broker* const broker_;
  ImageStore* const store_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_IMAGES_SERVICE_H_
