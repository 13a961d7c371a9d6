#include "ctl/bundle/bundle_upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "agentd/package/pack.h"
#include "agentd/package/reference.h"
#include "ctl/file/named_place.h"
#include "ctl/policy/policy_file.h"
#include "odyssey/agent/v1/bundle.stub.h"

namespace odyssey::ctl {
namespace {

using agent::v1::BundleServiceStub;
using agent::v1::ImportBundleRequest;
using agent::v1::ImportBundleResponse;

constexpr size_t kChunkBytes = 256 * 1024;
constexpr int kImportMs = 600'000;

// Sends pieces as messages of kChunkBytes.
class ChunkSender final {
 public:
  explicit ChunkSender(rpc::Stream<ImportBundleRequest, ImportBundleResponse>* stream)
      : stream_(stream) {}

  Status Send(std::string_view bytes) {
    pending_ += bytes;
    return pending_.size() < kChunkBytes ? OkStatus() : Flush();
  }
  Status Flush() {
    ImportBundleRequest message;
    message.set_chunk(std::exchange(pending_, ""));
    if (stream_->Write(message)) return OkStatus();
    const Status status = stream_->Finish();
    return status.ok() ? Internal("agentd ended the upload") : status;
  }

 private:
  rpc::Stream<ImportBundleRequest, ImportBundleResponse>* const stream_;
  std::string pending_;
};

package::ByteSink Counting(const package::ByteSink& sink, const UploadProgress& progress) {
  if (!progress) return sink;
  return [&sink, &progress, sent = uint64_t{0}](std::string_view bytes) mutable {
    progress(sent += bytes.size());
    return sink(bytes);
  };
}

std::string ScratchTemplate() {
  const char* const parent = getenv("TMPDIR");
  return std::string(parent == nullptr ? "/tmp" : parent) + "/odyssey-ctl-XXXXXX";
}

}  // namespace

Result<std::unique_ptr<ScratchDirectory>> ScratchDirectory::Make() {
  std::string path = ScratchTemplate();
  if (mkdtemp(path.data()) == nullptr) return ErrnoStatus(errno, "create " + path);
  return std::make_unique<ScratchDirectory>(path);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

// Of mode 0600.
Result<UniqueFd> MakeScratchFile() {
  std::string path = ScratchTemplate();
  UniqueFd fd(mkostemp(path.data(), O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "create " + path);
  if (unlink(path.c_str()) != 0) return ErrnoStatus(errno, "remove " + path);
  return fd;
}

// Walked once: each part of the bundle is read below the directory that the walk opened.
Result<package::Parts> PackNamed(const std::string& directory,
                                 const package::LayoutDirectory& layout) {
  ODY_ASSIGN_OR_RETURN(const UniqueFd root, OpenBundleDirectory(directory));
  const auto again = [&](const std::string& name) -> Result<UniqueFd> {
    UniqueFd fd(fcntl(root.get(), F_DUPFD_CLOEXEC, 0));
    if (!fd) return ErrnoStatus(errno, "open " + name);
    return fd;
  };
  return package::PackBundle(directory, package::kLocalNamespace, layout, again);
}

Result<agent::v1::Bundle> UploadFrom(const std::shared_ptr<rpc::H2Channel>& agentd,
                                     const ImportOptions& options, const ArchiveWriter& write) {
  auto stream = BundleServiceStub(agentd).ImportBundle({kImportMs});
  ImportBundleRequest first;
  *first.mutable_options() = options;
  if (!stream.Write(first)) return stream.Finish();
  ChunkSender sender(&stream);
  ODY_RETURN_IF_ERROR(write([&](std::string_view bytes) { return sender.Send(bytes); }));
  ODY_RETURN_IF_ERROR(sender.Flush());
  stream.WritesDone();
  ImportBundleResponse response;
  const bool answered = stream.Read(&response);
  ODY_RETURN_IF_ERROR(stream.Finish());
  if (!answered) return Internal("agentd gave no answer");
  return std::move(*response.mutable_bundle());
}

Result<agent::v1::Bundle> UploadBundle(const std::shared_ptr<rpc::H2Channel>& agentd,
                                       const std::string& directory, const ImportOptions& options,
                                       const UploadProgress& progress) {
  ODY_ASSIGN_OR_RETURN(const std::unique_ptr<ScratchDirectory> scratch, ScratchDirectory::Make());
  ODY_ASSIGN_OR_RETURN(const package::LayoutDirectory layout,
                       package::LayoutDirectory::Create(scratch->path() + "/layout"));
  ODY_ASSIGN_OR_RETURN(const package::Parts parts, PackNamed(directory, layout));
  return UploadFrom(agentd, options, [&](const package::ByteSink& sink) {
    return layout.WriteArchive(parts, Counting(sink, progress));
  });
}

Result<agent::v1::Bundle> UploadArchive(const std::shared_ptr<rpc::H2Channel>& agentd,
                                        const std::string& file, const ImportOptions& options,
                                        const UploadProgress& progress) {
  ODY_ASSIGN_OR_RETURN(const NamedPlace place, OpenNamedPlace(file, Links::kFileItself));
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd, place.OpenFile());
  return UploadFrom(agentd, options, [&](const package::ByteSink& sink) {
    return package::ReadInPieces(fd.get(), file, Counting(sink, progress));
  });
}

}  // namespace odyssey::ctl
