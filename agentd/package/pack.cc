#include "agentd/package/pack.h"

#include <errno.h>
#include <fcntl.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "agentd/package/bundle_files.h"
#include "common/oci/digest.h"
#include "policy/dialect/bundle.h"
#include "policy/dialect/node.h"

namespace odyssey::package {
namespace {

constexpr char kJson5Manifest[] = "odyssey.bundle.json5";

Result<UniqueFd> OpenSource(const std::string& source, const dialect::DirectoryOpener& open_it) {
  UniqueFd named;
  if (open_it) {
    ODY_ASSIGN_OR_RETURN(named, open_it(source));
  } else {
    named.reset(open(source.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!named) return ErrnoStatus(errno, "open " + source);
  }
  UniqueFd fd(openat(named.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + source);
  return fd;
}

Status WriteFile(int root, const BundleFile& file, const std::string& source, BlobWriter* blob) {
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd, OpenBundleFile(root, file, source));
  ODY_ASSIGN_OR_RETURN(const std::string head,
                       oci::EncodeEntry(oci::kLayerFormat, file.path, file.bytes));
  ODY_RETURN_IF_ERROR(blob->Write(head));
  uint64_t left = file.bytes;
  const std::string shown = source + "/" + file.path;
  const auto changed = [&] { return InvalidArgument("bundle entry " + shown + " has changed"); };
  ODY_RETURN_IF_ERROR(ReadInPieces(fd.get(), shown, [&](std::string_view bytes) {
    if (bytes.size() > left) return changed();
    left -= bytes.size();
    return blob->Write(bytes);
  }));
  return left == 0 ? OkStatus() : changed();
}

Result<oci::Descriptor> WriteLayer(int root, const std::vector<BundleFile>& files,
                                   const std::string& source, const LayoutDirectory& layout) {
  ODY_ASSIGN_OR_RETURN(const std::unique_ptr<BlobWriter> blob, layout.NewBlob());
  ODY_ASSIGN_OR_RETURN(const std::string header,
                       oci::EncodeHeader(oci::kLayerFormat, files.size()));
  ODY_RETURN_IF_ERROR(blob->Write(header));
  for (const BundleFile& file : files) {
    ODY_RETURN_IF_ERROR(WriteFile(root, file, source, blob.get()));
  }
  ODY_ASSIGN_OR_RETURN(const oci::Descriptor layer, blob->Commit());
  if (layer.size <= oci::kMaxEntryBytes) return layer;
  return oci::InvalidBundle("the files of " + source + " make a layer of " +
                            std::to_string(layer.size) + " bytes; an archive holds at most " +
                            std::to_string(oci::kMaxEntryBytes));
}

// A file of the bundle as JSON text; it has been read before.
Result<std::string> AsJson(const dialect::ProjectRoot& root, const std::string& path,
                           dialect::Format format) {
  ODY_ASSIGN_OR_RETURN(const std::string text, root.Read(path));
  dialect::Problems problems;
  const auto node = dialect::ParseDocument(format, path, text, &problems);
  if (!node) return dialect::ToStatus(problems);
  return dialect::ToJson(*node);
}

std::string ExecutablesOf(const std::vector<BundleFile>& files) {
  nlohmann::json out = nlohmann::json::array();
  for (const BundleFile& file : files) {
    if (file.executable) out.push_back(file.path);
  }
  return out.dump();
}

}  // namespace

Result<Parts> PackBundle(const std::string& source, const std::string& ns,
                         const LayoutDirectory& layout, const dialect::DirectoryOpener& open) {
  ODY_ASSIGN_OR_RETURN(const dialect::Bundle bundle, dialect::LoadBundle(source, open));
  ODY_ASSIGN_OR_RETURN(const UniqueFd directory, OpenSource(source, open));
  ODY_ASSIGN_OR_RETURN(std::vector<BundleFile> files, ListBundleFiles(directory.get(), source));
  const std::string manifest_name =
      bundle.manifest_path.substr(bundle.manifest_path.rfind('/') + 1);
  const bool json5 = manifest_name == kJson5Manifest;
  const dialect::ProjectRoot root(source, open);

  Parts out;
  oci::Manifest& manifest = out.manifest;
  manifest.annotations[oci::kExecutablesAnnotation] = ExecutablesOf(files);
  if (json5) {  // the contract's layer is without it
    std::erase_if(files, [&](const BundleFile& file) { return file.path == manifest_name; });
    ODY_ASSIGN_OR_RETURN(manifest.annotations[oci::kManifestTextAnnotation],
                         root.Read(manifest_name));
  }
  out.config = {ns, bundle.id, bundle.version, bundle.readme, "", ""};
  ODY_ASSIGN_OR_RETURN(
      out.config.bundle_manifest,
      AsJson(root, manifest_name, json5 ? dialect::Format::kJson5 : dialect::Format::kYaml));
  ODY_ASSIGN_OR_RETURN(out.config.agent_spec, AsJson(root, bundle.agents[bundle.default_agent].path,
                                                     dialect::Format::kYaml));

  ODY_ASSIGN_OR_RETURN(const oci::Descriptor layer,
                       WriteLayer(directory.get(), files, source, layout));
  manifest.layers.push_back(layer);
  ODY_ASSIGN_OR_RETURN(manifest.config, layout.AddBlob(oci::WriteConfig(out.config)));
  out.manifest_text = oci::WriteManifest(manifest, oci::RefName(out.config));
  ODY_ASSIGN_OR_RETURN(out.manifest_blob, layout.AddBlob(out.manifest_text));
  ODY_RETURN_IF_ERROR(layout.SetManifest(out.manifest_blob, oci::RefName(out.config)));
  return out;
}

}  // namespace odyssey::package
