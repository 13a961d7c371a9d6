#include "agentd/service/bundle_service.h"

#include <utility>

#include "agentd/package/bundle_files.h"
#include "agentd/package/description.h"
#include "agentd/service/session_access.h"
#include "common/oci/digest.h"
#include "common/rpc/status_map.h"

namespace odyssey::service {
namespace {

namespace pb = agent::v1;
using bundle::Installation;
using rpc::ToGrpc;

constexpr size_t kChunkBytes = 256 * 1024;

pb::Bundle ToProto(const Installation& installation) {
  pb::Bundle out;
  out.set_namespace_(installation.pin.ns);
  out.set_id(installation.pin.id);
  out.set_version(installation.pin.version);
  out.set_digest(oci::DigestOf(installation.pin.digest));
  out.set_path(installation.directory);
  out.set_shared(installation.shared);
  out.set_owner_uid(installation.owner);
  return out;
}

// The first message; INVALID_ARGUMENT if it is none.
Result<bundle::InstallOptions> ReadOptions(grpc::ServerReader<pb::ImportBundleRequest>* reader,
                                           uid_t caller) {
  pb::ImportBundleRequest first;
  if (!reader->Read(&first) || !first.has_options()) {
    return InvalidArgument("options: must be the first message of the stream");
  }
  bundle::InstallOptions out;
  out.owner = caller;
  out.force = first.options().force();
  out.unlisted = first.options().unlisted();
  const std::string& expected = first.options().expected_digest();
  if (expected.empty()) return out;
  ODY_ASSIGN_OR_RETURN(out.digest, oci::HexOf(expected));
  return out;
}

Result<Installation> Receive(grpc::ServerReader<pb::ImportBundleRequest>* reader, uid_t caller,
                             const grpc::ServerContext& context, const session::Sessions& sessions,
                             bundle::BundleStore* store) {
  ODY_RETURN_IF_ERROR(sessions.CheckDiskQuota(caller));
  ODY_ASSIGN_OR_RETURN(const bundle::InstallOptions options, ReadOptions(reader, caller));
  ODY_ASSIGN_OR_RETURN(const std::unique_ptr<bundle::Staging> staging, store->NewStaging());
  package::ArchiveReceiver archive(&staging->layout());
  pb::ImportBundleRequest next;
  while (reader->Read(&next)) {
    if (next.has_options()) return InvalidArgument("options: come once, in the first message");
    ODY_RETURN_IF_ERROR(archive.Feed(next.chunk()));
  }
  if (context.IsCancelled()) return Cancelled("import: the client ended the call");
  ODY_RETURN_IF_ERROR(archive.Finish());
  return store->Install(*staging, options);
}

// Collects what is written in messages of kChunkBytes.
class ChunkWriter final {
 public:
  explicit ChunkWriter(grpc::ServerWriter<pb::ExportBundleResponse>* writer) : writer_(writer) {}

  Status Write(std::string_view bytes) {
    pending_ += bytes;
    return pending_.size() < kChunkBytes ? OkStatus() : Flush();
  }
  Status Flush() {
    pb::ExportBundleResponse message;
    message.set_chunk(std::exchange(pending_, ""));
    return writer_->Write(message) ? OkStatus() : Cancelled("export: the client ended the call");
  }

 private:
  grpc::ServerWriter<pb::ExportBundleResponse>* const writer_;
  std::string pending_;
};

Status Export(const bundle::BundleStore& store, const Installation& installation,
              grpc::ServerWriter<pb::ExportBundleResponse>* writer) {
  ODY_ASSIGN_OR_RETURN(const package::LayoutDirectory layout, store.LayoutOf(installation));
  ODY_ASSIGN_OR_RETURN(const package::Parts parts, layout.ReadParts());
  pb::ExportBundleResponse first;
  *first.mutable_bundle() = ToProto(installation);
  if (!writer->Write(first)) return Cancelled("export: the client ended the call");
  ChunkWriter chunks(writer);
  ODY_RETURN_IF_ERROR(
      layout.WriteArchive(parts, [&](std::string_view bytes) { return chunks.Write(bytes); }));
  return chunks.Flush();
}

}  // namespace

grpc::Status BundleService::BuildBundle(grpc::ServerContext* context,
                                        const pb::BuildBundleRequest* request,
                                        pb::BuildBundleResponse* response) {
  const Result<uid_t> caller = CallerOf(sessions_->runtime(), *context);
  if (!caller.ok()) return ToGrpc(caller.status());
  const Status room = sessions_->CheckDiskQuota(*caller);
  if (!room.ok()) return ToGrpc(room);
  bundle::InstallOptions options;
  options.owner = *caller;
  options.force = request->force();
  const Result<Installation> built = store_->Build(request->directory(), options);
  if (!built.ok()) return ToGrpc(built.status());
  *response->mutable_bundle() = ToProto(*built);
  return grpc::Status::OK;
}

grpc::Status BundleService::ImportBundle(grpc::ServerContext* context,
                                         grpc::ServerReader<pb::ImportBundleRequest>* reader,
                                         pb::ImportBundleResponse* response) {
  const Result<uid_t> caller = CallerOf(sessions_->runtime(), *context);
  if (!caller.ok()) return ToGrpc(caller.status());
  const Result<Installation> imported = Receive(reader, *caller, *context, *sessions_, store_);
  if (!imported.ok()) return ToGrpc(imported.status());
  *response->mutable_bundle() = ToProto(*imported);
  return grpc::Status::OK;
}

grpc::Status BundleService::ListBundles(grpc::ServerContext* context, const pb::ListBundlesRequest*,
                                        pb::ListBundlesResponse* response) {
  const Result<uid_t> caller = CallerOf(sessions_->runtime(), *context);
  if (!caller.ok()) return ToGrpc(caller.status());
  for (const Installation& each : store_->List(*caller)) *response->add_bundles() = ToProto(each);
  return grpc::Status::OK;
}

grpc::Status BundleService::InspectBundle(grpc::ServerContext* context,
                                          const pb::InspectBundleRequest* request,
                                          pb::InspectBundleResponse* response) {
  const Result<uid_t> caller = CallerOf(sessions_->runtime(), *context);
  if (!caller.ok()) return ToGrpc(caller.status());
  const Result<Installation> found = store_->Find(request->reference(), *caller);
  if (!found.ok()) return ToGrpc(found.status());
  const auto opened = store_->Open(found->pin);
  if (!opened.ok()) return ToGrpc(opened.status());
  const Result<package::LayoutDirectory> layout = store_->LayoutOf(*found);
  if (!layout.ok()) return ToGrpc(layout.status());
  const Result<package::Parts> parts = layout->ReadParts();
  if (!parts.ok()) return ToGrpc(parts.status());
  const auto files = package::ListTreeFiles((*opened)->directory);
  if (!files.ok()) return ToGrpc(files.status());
  pb::Bundle& bundle = *response->mutable_bundle();
  bundle = ToProto(*found);
  package::Describe((*opened)->spec, *files, &bundle);
  bundle.set_manifest(parts->config.bundle_manifest);
  return grpc::Status::OK;
}

grpc::Status BundleService::ExportBundle(grpc::ServerContext* context,
                                         const pb::ExportBundleRequest* request,
                                         grpc::ServerWriter<pb::ExportBundleResponse>* writer) {
  const Result<uid_t> caller = CallerOf(sessions_->runtime(), *context);
  if (!caller.ok()) return ToGrpc(caller.status());
  const Result<Installation> found = store_->Find(request->reference(), *caller);
  if (!found.ok()) return ToGrpc(found.status());
  return ToGrpc(Export(*store_, *found, writer));
}

grpc::Status BundleService::RemoveBundle(grpc::ServerContext* context,
                                         const pb::RemoveBundleRequest* request,
                                         pb::RemoveBundleResponse* response) {
  const Result<uid_t> caller = CallerOf(sessions_->runtime(), *context);
  if (!caller.ok()) return ToGrpc(caller.status());
  const Result<Installation> removed = store_->Remove(request->reference(), *caller);
  if (!removed.ok()) return ToGrpc(removed.status());
  sessions_->CollectBundles();
  *response->mutable_bundle() = ToProto(*removed);
  return grpc::Status::OK;
}

}  // namespace odyssey::service
