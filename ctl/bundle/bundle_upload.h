#ifndef ODYSSEY_CTL_BUNDLE_BUNDLE_UPLOAD_H_
#define ODYSSEY_CTL_BUNDLE_BUNDLE_UPLOAD_H_

// Bundles that this program packs or reads itself, so that agentd need not reach their directory.

#include <functional>
#include <memory>
#include <string>

#include "agentd/package/layout_directory.h"
#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "common/rpc/h2_channel.h"
#include "odyssey/agent/v1/bundle.pb.h"

namespace odyssey::ctl {

// A directory of this process's own, removed with it.
class ScratchDirectory final {
 public:
  static Result<std::unique_ptr<ScratchDirectory>> Make();
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// A file without a name: no other process of another user's opens it, and it goes with its last
// descriptor.
Result<UniqueFd> MakeScratchFile();

// Packs the bundle in `directory`, as a person named it, as "local".
Result<package::Parts> PackNamed(const std::string& directory,
                                 const package::LayoutDirectory& layout);

using ImportOptions = agent::v1::ImportBundleRequest::Options;

// How many bytes of the archive were sent, after each piece.
using UploadProgress = std::function<void(uint64_t sent)>;

// Imports the archive that `write` gives to its sink. A failure of it imports nothing.
using ArchiveWriter = std::function<Status(const package::ByteSink&)>;
Result<agent::v1::Bundle> UploadFrom(const std::shared_ptr<rpc::H2Channel>& agentd,
                                     const ImportOptions& options, const ArchiveWriter& write);

// Packs it and imports its archive.
Result<agent::v1::Bundle> UploadBundle(const std::shared_ptr<rpc::H2Channel>& agentd,
                                       const std::string& directory, const ImportOptions& options,
                                       const UploadProgress& progress = {});

// Imports an archive that a person named.
Result<agent::v1::Bundle> UploadArchive(const std::shared_ptr<rpc::H2Channel>& agentd,
                                        const std::string& file, const ImportOptions& options,
                                        const UploadProgress& progress = {});

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BUNDLE_BUNDLE_UPLOAD_H_
