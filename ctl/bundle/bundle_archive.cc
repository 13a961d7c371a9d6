#include "ctl/bundle/bundle_archive.h"

#include <errno.h>
#include <fcntl.h>

#include <utility>
#include <vector>

#include "agentd/package/bundle_files.h"
#include "agentd/package/description.h"
#include "common/oci/digest.h"
#include "ctl/policy/policy_file.h"
#include "odyssey/agent/v1/bundle.stub.h"
#include "policy/dialect/bundle.h"

namespace odyssey::ctl {
namespace {

constexpr int kExportMs = 600'000;

}  // namespace

Result<Packed> PackHere(const std::string& directory) {
  ODY_ASSIGN_OR_RETURN(std::unique_ptr<ScratchDirectory> scratch, ScratchDirectory::Make());
  ODY_ASSIGN_OR_RETURN(package::LayoutDirectory layout,
                       package::LayoutDirectory::Create(scratch->path() + "/layout"));
  ODY_ASSIGN_OR_RETURN(package::Parts parts, PackNamed(directory, layout));
  return Packed{std::move(scratch), std::move(layout), std::move(parts)};
}

agent::v1::Bundle DescribePacked(const package::Parts& parts, const std::string& path) {
  agent::v1::Bundle out;
  out.set_namespace_(parts.config.ns);
  out.set_id(parts.config.id);
  out.set_version(parts.config.version);
  out.set_digest(oci::DigestOf(parts.manifest_blob.digest));
  out.set_path(path);
  out.set_readme(parts.config.readme);
  out.set_manifest(parts.config.bundle_manifest);
  return out;
}

Result<agent::v1::Bundle> DescribeDirectory(const std::string& directory) {
  ODY_ASSIGN_OR_RETURN(const Packed packed, PackHere(directory));
  ODY_ASSIGN_OR_RETURN(const dialect::Bundle spec,
                       dialect::LoadBundle(directory, OpenBundleDirectory));
  ODY_ASSIGN_OR_RETURN(const UniqueFd named, OpenBundleDirectory(directory));
  const UniqueFd root(openat(named.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return ErrnoStatus(errno, "open " + directory);
  ODY_ASSIGN_OR_RETURN(const std::vector<package::BundleFile> files,
                       package::ListBundleFiles(root.get(), directory));
  agent::v1::Bundle out = DescribePacked(packed.parts, directory);
  package::Describe(spec, files, &out);
  return out;
}

Status WritePackedArchive(const std::string& directory, const ArchiveOpener& opener) {
  ODY_ASSIGN_OR_RETURN(const Packed packed, PackHere(directory));
  ODY_ASSIGN_OR_RETURN(const package::ByteSink sink, opener(DescribePacked(packed.parts, "")));
  return packed.layout.WriteArchive(packed.parts, sink);
}

Status WriteInstalledArchive(const std::shared_ptr<rpc::H2Channel>& agentd,
                             const std::string& reference, const ArchiveOpener& opener) {
  agent::v1::ExportBundleRequest request;
  request.set_reference(reference);
  auto stream = agent::v1::BundleServiceStub(agentd).ExportBundle({kExportMs}, request);
  package::ByteSink sink;
  agent::v1::ExportBundleResponse message;
  while (stream.Read(&message)) {
    if (message.has_bundle()) {
      ODY_ASSIGN_OR_RETURN(sink, opener(message.bundle()));
    } else if (sink) {
      ODY_RETURN_IF_ERROR(sink(message.chunk()));
    }
  }
  ODY_RETURN_IF_ERROR(stream.Finish());
  return sink ? OkStatus() : Internal("agentd sent no bundle");
}

bool IsArchiveName(const std::string& path) {
  const std::string suffix = kArchiveSuffix;
  return path.size() > suffix.size() && path.substr(path.size() - suffix.size()) == suffix;
}

std::string NameOf(const agent::v1::Bundle& bundle) {
  return bundle.namespace_() + "/" + bundle.id() + "@" + bundle.version();
}

}  // namespace odyssey::ctl
