#include "policy/dialect/bundle_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "common/base/utf8.h"

namespace odyssey::dialect {
namespace {

namespace fs = std::filesystem;

// Of the bundle's own directory: readers of the contract take them for its OCI layout.
constexpr std::string_view kMetadataNames[] = {"oci-layout", "index.json", "bundle.json", "blobs"};

// `opened` is the entry, by a path that leads to it.
Status CheckEntry(const BundleEntry& entry, const fs::path& opened, BundleCount* count) {
  ODY_RETURN_IF_ERROR(CheckBundleName(entry));
  struct stat info;
  if (lstat(opened.c_str(), &info) != 0) return ErrnoStatus(errno, "stat " + entry.path);
  ODY_RETURN_IF_ERROR(CheckBundleKind(entry, info.st_mode));
  if (S_ISDIR(info.st_mode)) return CheckBundleDepth(entry.path, entry.depth + 1);
  return count->AddFile(entry.path, static_cast<uint64_t>(info.st_size));
}

}  // namespace

bool IsLeftOut(const BundleEntry& entry) {
  return entry.depth == 0 && entry.name == kMetadataDirectory;
}

Status CheckBundleName(const BundleEntry& entry) {
  if (!IsValidUtf8(entry.name)) {
    return InvalidArgument("bundle entry " + SanitizeUtf8(entry.path) + ": the name is not UTF-8");
  }
  if (entry.depth == 0 && entry.name == kMountDirectory) {
    return InvalidArgument("bundle entry " + entry.path +
                           ": the name is reserved for mounted host directories");
  }
  const bool metadata = std::find(std::begin(kMetadataNames), std::end(kMetadataNames),
                                  entry.name) != std::end(kMetadataNames);
  if (entry.depth == 0 && metadata) {
    return InvalidArgument("bundle entry " + entry.path +
                           ": the name is reserved for the metadata of bundles");
  }
  return OkStatus();
}

Status CheckBundleKind(const BundleEntry& entry, mode_t mode) {
  if (S_ISREG(mode) || S_ISDIR(mode)) return OkStatus();
  return InvalidArgument("bundle entry " + entry.path + " is a " +
                         (S_ISLNK(mode) ? "symbolic link" : "special file") +
                         "; a bundle holds regular files and directories");
}

Status BundleCount::AddEntry(const std::string& path) {
  if (++entries_ <= kMaxBundleEntries) return OkStatus();
  return TooLargeForBundle(path, std::to_string(kMaxBundleEntries) + " entries");
}

Status BundleCount::AddFile(const std::string& path, uint64_t bytes) {
  if (bytes > kMaxBundleFileBytes) {
    return TooLargeForBundle(path, std::to_string(kMaxBundleFileBytes) + " bytes in one file");
  }
  bytes_ += bytes;
  if (bytes_ <= kMaxBundleBytes) return OkStatus();
  return TooLargeForBundle(path, std::to_string(kMaxBundleBytes) + " bytes");
}

Status CheckBundleDepth(const std::string& path, int depth) {
  if (depth <= kMaxBundleDepth) return OkStatus();
  return TooLargeForBundle(path, std::to_string(kMaxBundleDepth) + " levels of directories");
}

Status TooLargeForBundle(const std::string& path, const std::string& limit) {
  return InvalidArgument("bundle entry " + path + ": a bundle has at most " + limit);
}

Problems CheckBundleTree(const std::string& directory, const DirectoryOpener& open) {
  Problems problems;
  BundleCount count;
  const auto add = [&](const Status& status) {
    if (!status.ok()) problems.push_back({.file = directory, .message = status.message()});
    return status.ok();
  };
  const ProjectRoot root(directory, open);
  const std::string opened = root.OpenedPath();
  const std::string shown = directory.substr(0, directory.find_last_not_of('/') + 1);
  std::error_code error;
  fs::recursive_directory_iterator it(opened, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const std::string below = it->path().string().substr(opened.size());
    const BundleEntry entry = {shown + below, it->path().filename().string(), it.depth()};
    if (IsLeftOut(entry)) {
      it.disable_recursion_pending();
    } else if (!add(count.AddEntry(entry.path))) {
      break;
    } else if (!add(CheckEntry(entry, it->path(), &count))) {
      it.disable_recursion_pending();
    }
  }
  if (error) add(InvalidArgument("read the bundle's directories: " + error.message()));
  std::sort(problems.begin(), problems.end(),
            [](const Problem& a, const Problem& b) { return a.message < b.message; });
  return problems;
}

}  // namespace odyssey::dialect
