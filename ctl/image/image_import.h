#ifndef ODYSSEY_CTL_IMAGE_IMAGE_IMPORT_H_
#define ODYSSEY_CTL_IMAGE_IMAGE_IMPORT_H_

// ImportImage as a client makes it: what the store lacks is sent, each layer as it comes from
// somewhere.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "ctl/image/image_cell.h"
#include "image/spec/image_spec.h"
#include "odyssey/supervisor/v1/image.stub.h"

namespace odyssey::ctl {

// Gives the bytes of a layer to the sink, piece by piece.
using LayerSource = std::function<Status(const image::Blob& layer, const ByteSink& sink)>;

class ImageImport final {
 public:
  // `signals`: a signalfd, or -1; a signal ends a call, which is CANCELLED then. `client` outlives
  // the import.
  ImageImport(const Client& client, int signals, supervisor::v1::ImportImageStart start);

  supervisor::v1::ImportImageStart* start() { return &start_; }

  // Asks the store what it wants. After a failure `start` may be changed for another try.
  Status Begin();
  // After Begin: whether Send has to bring a layer. Until then the store waits.
  bool wants_layers() const { return wanted_.digests_size() > 0; }
  // After Begin. `progress` is called with the bytes that were sent so far, of all that the store
  // wants.
  Result<supervisor::v1::ImageInfo> Send(
      const image::Manifest& manifest, const LayerSource& source,
      const std::function<void(uint64_t sent, uint64_t all)>& progress);

  // Of layers.
  uint64_t sent() const { return sent_; }

 private:
  using Stream =
      rpc::Stream<supervisor::v1::ImportImageRequest, supervisor::v1::ImportImageResponse>;
  Result<supervisor::v1::ImageInfo> End();

  const supervisor::v1::ImagesStub stub_;
  const int signals_;
  supervisor::v1::ImportImageStart start_;
  std::optional<Stream> stream_;
  supervisor::v1::WantedLayers wanted_;
  uint64_t sent_ = 0;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_IMAGE_IMPORT_H_
