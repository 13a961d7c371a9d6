#include "image/layout/layout.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/sha256.h"

namespace odyssey::image {
namespace {

constexpr std::string_view kAlgorithm = "sha256:";
constexpr size_t kMaxImages = 256;
// An index that names itself has no true digest; many that name many would be read for ever.
constexpr int kMaxDepth = 4;
constexpr int kMaxIndexes = 64;

class Search final {
 public:
  Search(LayoutFiles* files, const Platform& platform) : files_(files), platform_(platform) {}

  // The manifest of the image.
  Result<Blob> Find(const std::string& name, const std::vector<IndexEntry>& entries) {
    there_.clear();
    ODY_ASSIGN_OR_RETURN(const std::optional<Blob> manifest, Choose(entries, 0));
    if (manifest) return *manifest;
    return NotFound((name.empty() ? "" : "image \"" + name + "\": ") + "no manifest is of " +
                    platform_.os + "/" + platform_.architecture +
                    "; there are: " + (there_.empty() ? "none" : there_));
  }

 private:
  // The manifest among these; nothing: none is of the platform.
  Result<std::optional<Blob>> Choose(const std::vector<IndexEntry>& entries, int depth) {
    for (const IndexEntry& entry : entries) {
      if (!entry.is_index) {
        const bool only = entries.size() == 1 && entry.platform.os.empty();
        if (only || entry.platform == platform_) return std::optional<Blob>(entry.blob);
        Note(entry.platform);
        continue;
      }
      if (depth == kMaxDepth) {
        return InvalidArgument(entry.blob.digest + ": indexes are in each other more than " +
                               std::to_string(kMaxDepth) + " deep");
      }
      if (++indexes_ > kMaxIndexes) {
        return InvalidArgument("there are more than " + std::to_string(kMaxIndexes) + " indexes");
      }
      ODY_ASSIGN_OR_RETURN(const std::string text, ReadBlob(files_, entry.blob, kMaxManifestBytes));
      ODY_ASSIGN_OR_RETURN(const std::vector<IndexEntry> inner, ReadIndex(text));
      ODY_ASSIGN_OR_RETURN(std::optional<Blob> found, Choose(inner, depth + 1));
      if (found) return found;
    }
    return std::optional<Blob>();
  }

  void Note(const Platform& platform) {
    constexpr size_t kMost = 400;
    if (there_.size() > kMost) return;
    there_ += (there_.empty() ? "" : ", ") + platform.os.substr(0, kMost) + "/" +
              platform.architecture.substr(0, kMost);
  }

  LayoutFiles* const files_;
  const Platform& platform_;
  int indexes_ = 0;  // of all images
  std::string there_;
};

}  // namespace

std::string BlobName(const std::string& digest) {
  return "blobs/sha256/" + digest.substr(kAlgorithm.size());
}

Result<std::string> ReadBlob(LayoutFiles* files, const Blob& blob, size_t max_bytes) {
  if (blob.size > max_bytes) {
    return InvalidArgument(blob.digest + ": has " + std::to_string(blob.size) + " bytes; " +
                           std::to_string(max_bytes) + " are allowed");
  }
  ODY_ASSIGN_OR_RETURN(std::string bytes, files->Read(BlobName(blob.digest), max_bytes));
  if (bytes.size() != blob.size) {
    return InvalidArgument(blob.digest + ": has " + std::to_string(bytes.size()) +
                           " bytes, and what names it says " + std::to_string(blob.size));
  }
  if (const std::string found = Sha256Hex(bytes); blob.digest.substr(kAlgorithm.size()) != found) {
    return InvalidArgument(blob.digest + ": its bytes have the digest sha256:" + found);
  }
  return bytes;
}

Result<std::vector<LayoutImage>> FindImages(LayoutFiles* files, const Platform& platform) {
  ODY_ASSIGN_OR_RETURN(const std::string text, files->Read(kIndexName, kMaxManifestBytes));
  Result<std::vector<IndexEntry>> entries = ReadIndex(text);
  if (!entries.ok()) {
    return Status(entries.status().code(),
                  std::string(kIndexName) + ": " + entries.status().message());
  }
  // Entries of one name are one image for several platforms.
  std::vector<std::pair<std::string, std::vector<IndexEntry>>> images;
  for (IndexEntry& entry : *entries) {
    const auto same = std::find_if(images.begin(), images.end(),
                                   [&](const auto& image) { return image.first == entry.name; });
    if (same != images.end()) {
      same->second.push_back(std::move(entry));
      continue;
    }
    if (images.size() == kMaxImages) {
      return InvalidArgument(std::string(kIndexName) + ": has more than " +
                             std::to_string(kMaxImages) + " images");
    }
    images.push_back({entry.name, {entry}});
  }
  if (images.empty()) return InvalidArgument(std::string(kIndexName) + ": names no image");
  Search search(files, platform);
  std::vector<LayoutImage> out;
  for (const auto& [name, of_image] : images) {
    ODY_ASSIGN_OR_RETURN(const Blob manifest, search.Find(name, of_image));
    out.push_back({name, manifest});
  }
  return out;
}

}  // namespace odyssey::image
