#include "supervisor/cell_tools/list_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/utf8.h"
#include "supervisor/cell_tools/directory_stream.h"
#include "supervisor/cell_tools/file_ops.h"
#include "supervisor/cell_tools/name_filter.h"

namespace odyssey::cell_tools {
namespace {

// A name as the disk has it, and its type by the letters of tool::ListEntry.
struct Found {
  std::string_view type;
  std::string name;
  friend bool operator<(const Found& a, const Found& b) {
    return std::tie(a.type, a.name) < std::tie(b.type, b.name);
  }
};

std::string_view NameOfType(mode_t type) {
  switch (type) {
    case S_IFDIR:
      return "dir";
    case S_IFREG:
      return "file";
    case S_IFLNK:
      return "symlink";
    default:
      return "other";
  }
}

// The least kMaxListEntries entries, sorted; `truncated` if there are more. A heap whose top is the
// greatest kept: one pass, whatever the size of the directory.
Status Collect(DirectoryStream* stream, const OpenedPath& directory, const cell::ToolRoot& limits,
               std::vector<Found>* kept, bool* truncated) {
  while (const dirent* entry = stream->Next()) {
    const mode_t type = TypeOf(stream->fd(), *entry);
    if (type != S_IFDIR && !IsSeen(limits, entry->d_name)) continue;
    kept->push_back({NameOfType(type), entry->d_name});
    std::push_heap(kept->begin(), kept->end());
    if (kept->size() <= tool::kMaxListEntries) continue;
    std::pop_heap(kept->begin(), kept->end());
    kept->pop_back();
    *truncated = true;
  }
  if (errno != 0) return AccessError(errno, Access::kRead, directory.absolute);
  std::sort_heap(kept->begin(), kept->end());
  return OkStatus();
}

// What stands before the names of the entries: relative as the request was, without a leading "./".
std::string EntryPrefix(const PathResolver& resolver, const VisiblePath& path) {
  std::string prefix = path.absolute;
  if (path.relative) prefix.erase(0, resolver.workspace().size());
  if (path.relative) prefix.erase(0, prefix.find_first_not_of('/'));
  return prefix.empty() ? prefix : prefix + "/";
}

}  // namespace

Result<tool::Response> ListDirectory(const PathResolver& resolver, const VisiblePath& path) {
  ODY_ASSIGN_OR_RETURN(OpenedPath opened, resolver.Open(path, O_RDONLY, Access::kRead));
  struct stat info;
  if (fstat(opened.fd.get(), &info) != 0) return AccessError(errno, Access::kRead, path.absolute);
  if (!S_ISDIR(info.st_mode)) {
    return FailedPrecondition("path `" + path.given + "` is not a directory");
  }
  DirectoryStream stream(std::move(opened.fd));
  if (!stream.ok()) return AccessError(errno, Access::kRead, path.absolute);

  tool::Response response;
  std::vector<Found> found;
  ODY_RETURN_IF_ERROR(
      Collect(&stream, opened, resolver.LimitsAt(opened.absolute), &found, &response.truncated));
  const std::string prefix = SanitizeUtf8(EntryPrefix(resolver, path));
  size_t bytes = 0;
  for (const Found& entry : found) {
    if (fstatat(stream.fd(), entry.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;  // removed since
    }
    std::string name = SanitizeUtf8(entry.name);
    bytes += prefix.size() + 2 * name.size();
    if (bytes > kMaxListBytes) {
      response.truncated = true;
      break;
    }
    response.entries.push_back({.name = name,
                                .path = prefix + name,
                                .type = std::string(entry.type),
                                .size = static_cast<uint64_t>(info.st_size)});
  }
  return response;
}

}  // namespace odyssey::cell_tools
