#include "ctl/image/image_import.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace odyssey::ctl {
namespace {

using supervisor::v1::ImageInfo;
using supervisor::v1::ImportImageRequest;
using supervisor::v1::ImportImageResponse;

constexpr size_t kMaxPiece = size_t{1} << 20;

// What the store wants of the manifest's layers. INVALID_ARGUMENT: another one.
Result<std::vector<image::Blob>> Find(const supervisor::v1::WantedLayers& wanted,
                                      const image::Manifest& manifest) {
  std::vector<image::Blob> out;
  for (const std::string& digest : wanted.digests()) {
    const auto layer =
        std::find_if(manifest.layers.begin(), manifest.layers.end(),
                     [&](const image::Layer& each) { return each.blob.digest == digest; });
    if (layer == manifest.layers.end()) {
      return Internal("the store wants a layer that the image does not have: " + digest);
    }
    out.push_back(layer->blob);
  }
  return out;
}

}  // namespace

ImageImport::ImageImport(const Client& client, int signals, supervisor::v1::ImportImageStart start)
    : stub_(client.channel()), signals_(signals), start_(std::move(start)) {}

Status ImageImport::Begin() {
  stream_.emplace(stub_.ImportImage({0, signals_}));
  ImportImageRequest request;
  *request.mutable_start() = start_;
  stream_->Write(request);
  ImportImageResponse response;
  if (!stream_->Read(&response)) {
    ODY_RETURN_IF_ERROR(stream_->Finish());
    return Internal("the store did not answer");
  }
  wanted_ = response.wanted();
  return OkStatus();
}

Result<ImageInfo> ImageImport::End() {
  stream_->WritesDone();
  std::optional<ImageInfo> image;
  for (ImportImageResponse response; stream_->Read(&response);) {
    if (response.has_image()) image = std::move(*response.mutable_image());
  }
  ODY_RETURN_IF_ERROR(stream_->Finish());
  if (image) return *std::move(image);
  return Internal("the store did not say which image it has");
}

Result<ImageInfo> ImageImport::Send(const image::Manifest& manifest, const LayerSource& source,
                                    const std::function<void(uint64_t, uint64_t)>& progress) {
  ODY_ASSIGN_OR_RETURN(const std::vector<image::Blob> layers, Find(wanted_, manifest));
  uint64_t all = 0;
  for (const image::Blob& layer : layers) all += layer.size;
  bool going = true;
  for (const image::Blob& layer : layers) {
    ImportImageRequest request;
    request.set_layer(layer.digest);
    going = stream_->Write(request);
    const Status status = source(layer, [&](const std::string& bytes) {
      for (size_t at = 0; going && at < bytes.size(); at += kMaxPiece) {
        request.set_data(bytes.substr(at, kMaxPiece));
        going = stream_->Write(request);
      }
      if (!going) return Cancelled("the store takes no more");
      sent_ += bytes.size();
      if (progress) progress(sent_, all);
      return OkStatus();
    });
    if (!going) break;  // why the call's end says
    if (!status.ok()) return Status(status.code(), layer.digest + ": " + status.message());
  }
  return End();
}

}  // namespace odyssey::ctl
