#include "supervisor/cell_tools/list_directory.h"

#include <dirent.h>
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
#include "supervisor/cell_tools/file_ops.h"

namespace odyssey::cell_tools {
namespace {

class DirectoryStream final {
 public:
  // Takes over `fd` if it succeeds.
  explicit DirectoryStream(UniqueFd fd) : stream_(fdopendir(fd.get())) {
    if (stream_ != nullptr) (void)fd.release();
  }
  DirectoryStream(const DirectoryStream&) = delete;
  DirectoryStream& operator=(const DirectoryStream&) = delete;
  ~DirectoryStream() {
    if (stream_ != nullptr) closedir(stream_);
  }
  DIR* get() const { return stream_; }

 private:
  DIR* stream_;
};

// A name as the disk has it, and its type by the letters of tool::ListEntry.
struct Found {
  std::string_view type;
  std::string name;
  friend bool operator<(const Found& a, const Found& b) {
    return std::tie(a.type, a.name) < std::tie(b.type, b.name);
  }
};

std::string_view TypeOf(int directory, const dirent& entry) {
  unsigned char type = entry.d_type;
  struct stat info;
  if (type == DT_UNKNOWN && fstatat(directory, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
    type = static_cast<unsigned char>(IFTODT(info.st_mode));
  }
  switch (type) {
    case DT_DIR:
      return "dir";
    case DT_REG:
      return "file";
    case DT_LNK:
      return "symlink";
    default:
      return "other";
  }
}

// The least kMaxListEntries entries, sorted; `truncated` if there are more. A heap whose top is the
// greatest kept: one pass, whatever the size of the directory.
Status Collect(DIR* stream, const VisiblePath& path, std::vector<Found>* kept, bool* truncated) {
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(stream);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    kept->push_back({TypeOf(dirfd(stream), *entry), std::string(name)});
    std::push_heap(kept->begin(), kept->end());
    if (kept->size() <= tool::kMaxListEntries) continue;
    std::pop_heap(kept->begin(), kept->end());
    kept->pop_back();
    *truncated = true;
  }
  if (errno != 0) return AccessError(errno, Access::kRead, path.absolute);
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
  ODY_ASSIGN_OR_RETURN(UniqueFd fd, resolver.Open(path, O_RDONLY, Access::kRead));
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return AccessError(errno, Access::kRead, path.absolute);
  if (!S_ISDIR(info.st_mode)) {
    return FailedPrecondition("path `" + path.given + "` is not a directory");
  }
  const DirectoryStream stream(std::move(fd));
  if (stream.get() == nullptr) return AccessError(errno, Access::kRead, path.absolute);

  tool::Response response;
  std::vector<Found> found;
  ODY_RETURN_IF_ERROR(Collect(stream.get(), path, &found, &response.truncated));
  const std::string prefix = SanitizeUtf8(EntryPrefix(resolver, path));
  size_t bytes = 0;
  for (const Found& entry : found) {
    if (fstatat(dirfd(stream.get()), entry.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
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
