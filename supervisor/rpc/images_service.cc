#include "supervisor/rpc/images_service.h"

#include <memory>
#include <utility>

#include "common/base/refusal.h"
#include "common/rpc/status_map.h"
#include "supervisor/rpc/audit_records.h"
#include "supervisor/rpc/cell_key.h"

namespace odyssey::supervisor {
namespace {

constexpr size_t kMaxData = size_t{1} << 20;

Status Gone() { return Cancelled("the client is gone"); }

ImageOrder OrderOf(v1::ImportImageStart* start) {
  ImageOrder order = {.owner_uid = start->owner_uid(),
                      .name = start->name(),
                      .manifest = std::move(*start->mutable_manifest()),
                      .config = std::move(*start->mutable_config())};
  for (v1::ImageSignature& signature : *start->mutable_signatures()) {
    order.signatures.push_back(
        {std::move(*signature.mutable_payload()), std::move(*signature.mutable_signature())});
  }
  return order;
}

}  // namespace

Status ImagesService::CheckMay() {
  if (broker_->hello().rootless) {
    return FailedPrecondition(
        "the supervisor runs without root: images need a range of uids that root alone can give");
  }
  return broker_->audit()->Admit();
}

void ImagesService::Record(const char* what, uint32_t owner_uid, const std::string& name,
                           const Result<v1::ImageInfo>& image) {
  if (image.ok()) {
    broker_->audit()->Add(ImageRecord(what, owner_uid, name, *image));
  } else {
    broker_->audit()->AddLimited(
        RefuseRecord(std::string("image_") + what, name, owner_uid, image.status()),
        "uid " + std::to_string(owner_uid));
  }
}

grpc::Status ImagesService::ImportImage(grpc::ServerContext* context, ImportStream* stream) {
  v1::ImportImageRequest first;
  if (!stream->Read(&first) || !first.has_start()) {
    return rpc::ToGrpc(InvalidArgument("message: the first must be start"));
  }
  if (const Status may = CheckMay(); !may.ok()) return rpc::ToGrpc(may);
  v1::ImportImageStart* const start = first.mutable_start();
  const uint32_t owner_uid = start->owner_uid();
  const std::string name = start->name();
  const Result<v1::ImageInfo> image = Import(*context, stream, start);
  Record("import", owner_uid, name, image);
  if (!image.ok()) return rpc::ToGrpc(image.status());
  v1::ImportImageResponse response;
  *response.mutable_image() = *image;
  stream->Write(response);
  return grpc::Status::OK;
}

Result<v1::ImageInfo> ImagesService::Import(const grpc::ServerContext& context,
                                            ImportStream* stream, v1::ImportImageStart* start) {
  ODY_ASSIGN_OR_RETURN(const std::unique_ptr<ImageImport> import, store_->Import(OrderOf(start)));
  v1::ImportImageResponse response;
  v1::WantedLayers* const wanted = response.mutable_wanted();
  for (const std::string& digest : import->wanted()) wanted->add_digests(digest);
  if (!stream->Write(response)) return Gone();
  v1::ImportImageRequest message;
  for (const std::string& digest : import->wanted()) {
    if (!stream->Read(&message)) {
      return context.IsCancelled()
                 ? Gone()
                 : Refused(Code::kInvalidArgument, "layer", digest, "is wanted, and did not come");
    }
    if (message.message_case() != v1::ImportImageRequest::kLayer) {
      return Refused(Code::kInvalidArgument, "message", "",
                     "expected layer, of " + digest + ", which is wanted next");
    }
    ODY_RETURN_IF_ERROR(import->BeginLayer(message.layer()));
    ODY_RETURN_IF_ERROR(ReceiveLayer(context, stream, digest, import.get()));
  }
  return import->Finish();
}

Status ImagesService::ReceiveLayer(const grpc::ServerContext& context, ImportStream* stream,
                                   const std::string& digest, ImageImport* import) {
  v1::ImportImageRequest message;
  while (!import->LayerHasAll()) {
    if (!stream->Read(&message)) {
      return context.IsCancelled()
                 ? Gone()
                 : Refused(Code::kInvalidArgument, "layer", digest, "is wanted, and ended early");
    }
    if (message.message_case() != v1::ImportImageRequest::kData) {
      return Refused(Code::kInvalidArgument, "message", "", "expected data, of layer " + digest);
    }
    if (message.data().size() > kMaxData) {
      return Refused(Code::kInvalidArgument, "data", "",
                     "at most " + std::to_string(kMaxData) + " bytes are allowed");
    }
    ODY_RETURN_IF_ERROR(import->Add(message.data()));
  }
  v1::ImportImageResponse response;
  ODY_ASSIGN_OR_RETURN(*response.mutable_layer(), import->EndLayer());
  return stream->Write(response) ? OkStatus() : Gone();
}

grpc::Status ImagesService::CommitImage(grpc::ServerContext*, const v1::CommitImageRequest* request,
                                        v1::CommitImageResponse* response) {
  const Result<v1::ImageInfo> image = Commit(*request);
  Record("commit", request->owner_uid(), request->name(), image);
  if (!image.ok()) return rpc::ToGrpc(image.status());
  *response->mutable_image() = *image;
  return grpc::Status::OK;
}

Result<v1::ImageInfo> ImagesService::Commit(const v1::CommitImageRequest& request) {
  ODY_RETURN_IF_ERROR(CheckMay());
  const CellKey key = {request.key().session_id(), request.key().agent_id(), request.key().kind(),
                       request.key().component()};
  ODY_RETURN_IF_ERROR(CheckCellKey(key));
  ODY_ASSIGN_OR_RETURN(const ImageUse use, store_->UseOf(key));
  if (request.owner_uid() != 0 && request.owner_uid() != use.owner_uid) {
    return Refused(Code::kPermissionDenied, "key", "",
                   "the cell is of uid " + std::to_string(use.owner_uid) +
                       ", which alone, beside root, makes an image of it");
  }
  ODY_RETURN_IF_ERROR(broker_->HoldKey(key));
  Result<v1::ImageInfo> image = store_->Commit({.key = key,
                                                .cell_tree = CellTreeOf(key),
                                                .owner_uid = request.owner_uid(),
                                                .name = request.name(),
                                                .comment = request.comment()});
  broker_->ReleaseKey(key);
  return image;
}

grpc::Status ImagesService::ListImages(grpc::ServerContext*, const v1::ListImagesRequest* request,
                                       v1::ListImagesResponse* response) {
  auto list = store_->List(request->owner_uid(), request->all());
  if (!list.ok()) return rpc::ToGrpc(list.status());
  *response = std::move(*list);
  return grpc::Status::OK;
}

grpc::Status ImagesService::InspectImage(grpc::ServerContext*,
                                         const v1::InspectImageRequest* request,
                                         v1::InspectImageResponse* response) {
  auto found = store_->Inspect(request->owner_uid(), request->reference());
  if (!found.ok()) return rpc::ToGrpc(found.status());
  *response = std::move(*found);
  return grpc::Status::OK;
}

grpc::Status ImagesService::ReadImageFiles(grpc::ServerContext* context,
                                           const v1::ReadImageFilesRequest* request,
                                           grpc::ServerWriter<v1::ReadImageFilesResponse>* writer) {
  return rpc::ToGrpc(Read(*context, *request, writer));
}

Status ImagesService::Read(const grpc::ServerContext& context,
                           const v1::ReadImageFilesRequest& request,
                           grpc::ServerWriter<v1::ReadImageFilesResponse>* writer) {
  ODY_RETURN_IF_ERROR(CheckMay());
  LayerHold hold;
  ODY_ASSIGN_OR_RETURN(
      const std::unique_ptr<TarReading> tar,
      store_->ReadFiles(request.owner_uid(), request.reference(), request.path(), &hold));
  v1::ReadImageFilesResponse response;
  for (;;) {
    ODY_ASSIGN_OR_RETURN(*response.mutable_data(), tar->Read());
    if (response.data().empty()) break;
    if (context.IsCancelled() || !writer->Write(response)) return Gone();
  }
  const Status whole = tar->Finish();
  return whole.ok() ? OkStatus() : OfField("path", whole);
}

grpc::Status ImagesService::RemoveImage(grpc::ServerContext*, const v1::RemoveImageRequest* request,
                                        v1::RemoveImageResponse* response) {
  if (const Status may = broker_->audit()->Admit(); !may.ok()) return rpc::ToGrpc(may);
  auto removed = store_->Remove(request->owner_uid(), request->reference());
  v1::ImageInfo image;
  if (removed.ok()) {
    image.set_digest(removed->removed_image());
    image.mutable_names()->CopyFrom(removed->removed_names());
  }
  Record("remove", request->owner_uid(), request->reference(),
         removed.ok() ? Result<v1::ImageInfo>(image) : removed.status());
  if (!removed.ok()) return rpc::ToGrpc(removed.status());
  *response = std::move(*removed);
  return grpc::Status::OK;
}

grpc::Status ImagesService::CollectImages(grpc::ServerContext*, const v1::CollectImagesRequest*,
                                          v1::CollectImagesResponse* response) {
  if (const Status may = CheckMay(); !may.ok()) return rpc::ToGrpc(may);
  auto collected = store_->Collect([this] { return broker_->LiveLayers(); });
  if (!collected.ok()) return rpc::ToGrpc(collected.status());
  *response = std::move(*collected);
  return grpc::Status::OK;
}

}  // namespace odyssey::supervisor
