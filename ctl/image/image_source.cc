#include "ctl/image/image_source.h"

#include <errno.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "ctl/image/skopeo_words.h"

namespace odyssey::ctl {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kPiece = size_t{256} << 10;
constexpr size_t kMaxImages = 256;
constexpr size_t kMaxNames = 64;  // of one image
// Where a tar that is not packed says what it is.
constexpr size_t kTarHead = 262;
constexpr std::string_view kTarMagic = "ustar";
// A slow disk is no registry that stalls.
constexpr std::chrono::milliseconds kSilence = std::chrono::minutes(10);

class LayoutSource final : public ImageSource {
 public:
  LayoutSource(image::LayoutFiles* files, LayerSource layers,
               std::vector<image::LayoutImage> images)
      : files_(files), layers_(std::move(layers)), images_(std::move(images)) {
    for (const image::LayoutImage& image : images_) {
      names_.emplace_back();
      if (!image.name.empty()) names_.back().push_back(image.name);
    }
  }

  const std::vector<std::vector<std::string>>& names() const override { return names_; }

  Result<ImageParts> Open(size_t image) override {
    ImageParts out{.layers = layers_};
    ODY_ASSIGN_OR_RETURN(
        out.manifest, image::ReadBlob(files_, images_[image].manifest, image::kMaxManifestBytes));
    ODY_ASSIGN_OR_RETURN(const image::Manifest manifest, image::ReadManifest(out.manifest));
    ODY_ASSIGN_OR_RETURN(out.config,
                         image::ReadBlob(files_, manifest.config, image::kMaxConfigBytes));
    return out;
  }

 private:
  image::LayoutFiles* const files_;
  const LayerSource layers_;
  const std::vector<image::LayoutImage> images_;
  std::vector<std::vector<std::string>> names_;
};

// A layout that tar unpacked in the cell.
class CellLayoutSource final : public ImageSource {
 public:
  static Result<std::unique_ptr<ImageSource>> Open(ImageCell* cell, const std::string& directory,
                                                   const image::Platform& platform) {
    auto out = std::make_unique<CellLayoutSource>(cell, directory);
    ODY_ASSIGN_OR_RETURN(out->source_, OpenLayout(&out->files_, out->Layers(), platform));
    return std::unique_ptr<ImageSource>(std::move(out));
  }
  CellLayoutSource(ImageCell* cell, std::string directory)
      : cell_(cell), directory_(std::move(directory)), files_(cell, directory_) {}

  const std::vector<std::vector<std::string>>& names() const override { return source_->names(); }
  Result<ImageParts> Open(size_t image) override { return source_->Open(image); }

 private:
  LayerSource Layers() {
    return [this](const image::Blob& layer, const ByteSink& sink) {
      return cell_->Fetch(directory_ + "/" + image::BlobName(layer.digest), layer.size, sink);
    };
  }

  ImageCell* const cell_;
  const std::string directory_;
  CellLayout files_;
  std::unique_ptr<ImageSource> source_;
};

class DockerArchive final : public ImageSource {
 public:
  DockerArchive(ImageCell* cell, std::string path, std::vector<std::vector<std::string>> names)
      : cell_(cell), path_(std::move(path)), names_(std::move(names)) {}

  const std::vector<std::vector<std::string>>& names() const override { return names_; }

  // Into a directory with the manifest that skopeo makes, and each blob by its digest.
  Result<ImageParts> Open(size_t image) override {
    const std::string directory = cell_->Work() + "/image-" + std::to_string(image);
    CellCommand command{
        .argv = {"skopeo", "--insecure-policy", "--tmpdir", cell_->Temporary(), "copy", "--quiet",
                 "docker-archive:" + path_ + ":@" + std::to_string(image), "dir:" + directory},
        .silence = kSilence,
        .watched = directory};
    const Result<CommandEnd> end =
        cell_->Execute(command, [](const std::string&) { return OkStatus(); });
    ODY_RETURN_IF_ERROR(end.status());
    if (!end->ok()) return FailedPrecondition(SkopeoError(end->errors));
    ImageParts out;
    ODY_ASSIGN_OR_RETURN(out.manifest,
                         cell_->ReadSmall(directory + "/manifest.json", image::kMaxManifestBytes));
    ODY_ASSIGN_OR_RETURN(const image::Manifest manifest, image::ReadManifest(out.manifest));
    const auto place = [directory](const image::Blob& blob) {
      return directory + "/" + blob.digest.substr(blob.digest.find(':') + 1);
    };
    ODY_ASSIGN_OR_RETURN(out.config,
                         cell_->ReadSmall(place(manifest.config), image::kMaxConfigBytes));
    out.layers = [cell = cell_, place](const image::Blob& layer, const ByteSink& sink) {
      return cell->Fetch(place(layer), layer.size, sink);
    };
    return out;
  }

 private:
  ImageCell* const cell_;
  const std::string path_;
  const std::vector<std::vector<std::string>> names_;
};

}  // namespace

Result<std::unique_ptr<ImageSource>> OpenLayout(image::LayoutFiles* files, LayerSource layers,
                                                const image::Platform& platform) {
  ODY_ASSIGN_OR_RETURN(std::vector<image::LayoutImage> images, image::FindImages(files, platform));
  return std::unique_ptr<ImageSource>(
      std::make_unique<LayoutSource>(files, std::move(layers), std::move(images)));
}

LayerSource LayersOf(image::LayoutDirectory* directory) {
  return [directory](const image::Blob& layer, const ByteSink& sink) -> Status {
    ODY_ASSIGN_OR_RETURN(const UniqueFd fd, directory->OpenBlob(layer));
    uint64_t left = layer.size;
    while (left > 0) {
      std::string bytes(std::min<uint64_t>(kPiece, left), '\0');
      const ssize_t n = read(fd.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(errno, "read " + image::BlobName(layer.digest));
      if (n == 0) return InvalidArgument("it became shorter while it was read");
      bytes.resize(static_cast<size_t>(n));
      left -= bytes.size();
      ODY_RETURN_IF_ERROR(sink(std::move(bytes)));
    }
    return OkStatus();
  };
}

Result<std::vector<std::vector<std::string>>> ReadArchiveNames(std::string_view manifest) {
  const Json json = Json::parse(manifest, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array() || json.empty() || json.size() > kMaxImages) {
    return InvalidArgument("manifest.json: expected an array of 1 to " +
                           std::to_string(kMaxImages) + " images");
  }
  std::vector<std::vector<std::string>> out;
  for (const Json& image : json) {
    if (!image.is_object()) return InvalidArgument("manifest.json: expected objects");
    std::vector<std::string>& names = out.emplace_back();
    const Json tags = image.value("RepoTags", Json());
    if (!tags.is_array()) continue;
    for (const Json& tag : tags) {
      if (tag.is_string() && names.size() < kMaxNames) names.push_back(tag.get<std::string>());
    }
  }
  return out;
}

Result<std::unique_ptr<ImageSource>> OpenArchive(ImageCell* cell, const std::string& path,
                                                 const image::Platform& platform) {
  const std::string work = cell->Work();
  const auto tar = [&](const std::string& directory) {
    return CellCommand{
        .argv = {"tar", "--extract", "--file=" + path, "--directory=" + work,
                 "--one-top-level=" + directory, "--no-same-owner", "--no-same-permissions"},
        .silence = kSilence,
        .watched = work + "/" + directory + "/blobs/sha256"};
  };
  const auto nothing = [](const std::string&) { return OkStatus(); };
  // What lists the images; `docker save` of today writes both, and keeps digests in the layout.
  CellCommand lists = tar("lists");
  lists.argv.insert(lists.argv.end(),
                    {"index.json", "./index.json", "manifest.json", "./manifest.json"});
  ODY_ASSIGN_OR_RETURN(const CommandEnd end, cell->Execute(lists, nothing));
  const auto index =
      cell->ReadSmall(work + "/lists/" + image::kIndexName, image::kMaxManifestBytes);
  if (index.ok()) {
    ODY_ASSIGN_OR_RETURN(const CommandEnd all, cell->Execute(tar("layout"), nothing));
    if (!all.ok()) return FailedPrecondition(SkopeoError(all.errors));
    return CellLayoutSource::Open(cell, work + "/layout", platform);
  }
  const auto manifest = cell->ReadSmall(work + "/lists/manifest.json", image::kMaxManifestBytes);
  if (!manifest.ok()) {
    const bool no_tar = end.errors.find("does not look like a tar archive") != std::string::npos;
    return InvalidArgument(
        std::string("no archive of docker save and none of an OCI layout: ") +
        (no_tar ? "it is no tar" : "it has neither index.json nor manifest.json"));
  }
  ODY_ASSIGN_OR_RETURN(std::vector<std::vector<std::string>> names, ReadArchiveNames(*manifest));
  ODY_ASSIGN_OR_RETURN(
      const std::string head,
      cell->Capture({.argv = {"head", "-c", std::to_string(kTarHead), path}}, kTarHead));
  std::string plain = path;
  if (!head.ends_with(kTarMagic)) {
    // skopeo 1.9 reads no packed one.
    ODY_ASSIGN_OR_RETURN(const CommandEnd all, cell->Execute(tar("unpacked"), nothing));
    if (!all.ok()) return FailedPrecondition(SkopeoError(all.errors));
    plain = work + "/plain.tar";
    ODY_RETURN_IF_ERROR(
        cell->Capture({.argv = {"sh", "-c", "cd \"$1\" && exec tar --create --file=\"$2\" -- *",
                                "sh", work + "/unpacked", plain},
                       .silence = kSilence},
                      0)
            .status());
  }
  return std::unique_ptr<ImageSource>(
      std::make_unique<DockerArchive>(cell, plain, std::move(names)));
}

}  // namespace odyssey::ctl
