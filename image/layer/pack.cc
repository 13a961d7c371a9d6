#include "image/layer/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "common/os/unique_fd.h"
#include "image/layer/entry_path.h"

namespace odyssey::image {
namespace {

constexpr size_t kCopyBytes = 256 * 1024;
constexpr char kOpaque[] = "user.overlay.opaque";
constexpr char kWhiteoutPrefix[] = ".wh.";
constexpr char kOpaqueName[] = ".wh..wh..opq";

using Archive = std::unique_ptr<archive, decltype(&archive_write_free)>;
using ArchiveEntry = std::unique_ptr<archive_entry, decltype(&archive_entry_free)>;
using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

enum class Form { kLayer, kFiles };

Status ArchiveFailed(archive* writer) {
  const char* const why = archive_error_string(writer);
  return Unavailable(std::string("write the tar: ") + (why == nullptr ? "failed" : why));
}

bool IsWhiteout(const struct stat& info) {
  return S_ISCHR(info.st_mode) && info.st_rdev == makedev(0, 0);
}

// openat2(2), which glibc does not have.
UniqueFd OpenBelow(int directory, const std::string& path, uint64_t flags, uint64_t resolve) {
  open_how how{};
  how.flags = flags | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = resolve | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(
      static_cast<int>(syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how))));
}

Result<uint64_t> MountOf(int directory, const char* name) {
  struct statx info {};
  if (statx(directory, name, AT_SYMLINK_NOFOLLOW | (*name == '\0' ? AT_EMPTY_PATH : 0),
            STATX_MNT_ID, &info) != 0) {
    return ErrnoStatus(errno, "look at its mount");
  }
  return info.stx_mnt_id;
}

// By bytes, whatever the locale.
Result<std::vector<std::string>> NamesIn(int directory) {
  UniqueFd fd(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Directory stream(fd ? fdopendir(fd.get()) : nullptr, closedir);
  if (!stream) return ErrnoStatus(errno, "list the directory");
  fd.release();
  std::vector<std::string> names;
  errno = 0;
  // Only this thread reads this stream.
  while (const dirent* entry = readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return ErrnoStatus(errno, "list the directory");
  std::sort(names.begin(), names.end());
  return names;
}

class Packing final {
 public:
  Packing(Form form, const std::vector<std::string>& leave_out, const Bounds& bounds)
      : form_(form),
        leave_out_(leave_out),
        bounds_(bounds),
        writer_(archive_write_new(), archive_write_free),
        entry_(archive_entry_new(), archive_entry_free),
        buffer_(kCopyBytes) {}

  Status Open(int file) {
    if (!writer_ || !entry_) return ResourceExhausted("no memory for a writer");
    archive_write_set_format_pax(writer_.get());
    // Names are bytes here, as in the kernel.
    archive_write_set_format_option(writer_.get(), "pax", "hdrcharset", "BINARY");
    return archive_write_open_fd(writer_.get(), file) == ARCHIVE_OK ? OkStatus()
                                                                    : ArchiveFailed(writer_.get());
  }

  // `path` in the tar of the directory that is open, and of what is in it.
  Status Tree(int directory, const std::string& path, uint32_t depth) {
    struct stat info {};
    if (fstat(directory, &info) != 0) return Of(path, ErrnoStatus(errno, "look at it"));
    ODY_RETURN_IF_ERROR(Header(path, info, 0));
    if (form_ == Form::kLayer) ODY_RETURN_IF_ERROR(Opaque(directory, path, info));
    const Result<std::vector<std::string>> names = NamesIn(directory);
    if (!names.ok()) return Of(path, names.status());
    for (const std::string& name : *names) {
      ODY_RETURN_IF_ERROR(Below(directory, path == "." ? name : path + "/" + name, name, depth));
    }
    return OkStatus();
  }

  // One name of an open directory, with what is below it.
  Status Below(int directory, const std::string& path, const std::string& name, uint32_t depth) {
    if (std::find(leave_out_.begin(), leave_out_.end(), path) != leave_out_.end()) {
      return OkStatus();
    }
    if (depth >= bounds_.depth) {
      return Of(path, ResourceExhausted("its path has more than " + std::to_string(bounds_.depth) +
                                        " names"));
    }
    if (form_ == Form::kFiles) {
      ODY_ASSIGN_OR_RETURN(const uint64_t around, MountOf(directory, ""));
      const Result<uint64_t> own = MountOf(directory, name.c_str());
      if (!own.ok()) return Of(path, own.status());
      if (*own != around) return OkStatus();
    } else if (name.starts_with(kWhiteoutPrefix)) {
      return Of(path, InvalidArgument("in a layer its name would be a whiteout"));
    }
    struct stat info {};
    if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return Of(path, ErrnoStatus(errno, "look at it"));
    }
    if (S_ISDIR(info.st_mode)) {
      const UniqueFd fd = OpenBelow(directory, name, O_RDONLY | O_DIRECTORY, RESOLVE_BENEATH);
      return fd ? Tree(fd.get(), path, depth + 1) : Of(path, ErrnoStatus(errno, "open it"));
    }
    return Leaf(directory, path, name, info);
  }

  Result<PackStats> Finish() {
    if (archive_write_close(writer_.get()) != ARCHIVE_OK) return ArchiveFailed(writer_.get());
    return stats_;
  }

 private:
  Status Of(const std::string& path, const Status& status) {
    if (status.code() == Code::kUnavailable) return status;  // of the tar, and of no entry
    return Status(status.code(), Quoted(path) + ": " + status.message());
  }

  Status Leaf(int directory, const std::string& path, const std::string& name,
              const struct stat& info) {
    if (S_ISSOCK(info.st_mode)) return OkStatus();
    if (IsWhiteout(info) && form_ == Form::kLayer) {
      const std::string parent(ParentOf(path));
      return Mark((parent.empty() ? "" : parent + "/") + kWhiteoutPrefix + name, info);
    }
    if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) {
      return Of(path, InvalidArgument("it is a device"));
    }
    if (info.st_nlink > 1) {
      const auto [known, added] = first_names_.emplace(std::pair(info.st_dev, info.st_ino), path);
      if (!added) return HardLink(path, known->second, info);
    }
    if (S_ISLNK(info.st_mode)) return Symlink(directory, path, name, info);
    if (S_ISREG(info.st_mode)) return File(directory, path, name);
    return Header(path, info, 0);
  }

  void Begin(const std::string& path, const struct stat& info) {
    archive_entry* const entry = archive_entry_clear(entry_.get());
    archive_entry_set_pathname(entry, path.c_str());
    archive_entry_set_mode(entry, info.st_mode);
    archive_entry_set_uid(entry, info.st_uid);
    archive_entry_set_gid(entry, info.st_gid);
    archive_entry_set_mtime(entry, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    archive_entry_set_size(entry, 0);
  }

  Status End(const std::string& path) {
    if (++stats_.entries > bounds_.entries) {
      return ResourceExhausted("there are more than " + std::to_string(bounds_.entries) + " files");
    }
    if (archive_write_header(writer_.get(), entry_.get()) == ARCHIVE_OK) return OkStatus();
    return Of(path, ArchiveFailed(writer_.get()));
  }

  Status Header(const std::string& path, const struct stat& info, uint64_t size) {
    Begin(path, info);
    archive_entry_set_size(entry_.get(), static_cast<la_int64_t>(size));
    return End(path);
  }

  // An empty file whose name says something of the layers below.
  Status Mark(const std::string& path, const struct stat& info) {
    Begin(path, info);
    archive_entry_set_mode(entry_.get(), S_IFREG);
    archive_entry_set_uid(entry_.get(), 0);
    archive_entry_set_gid(entry_.get(), 0);
    return End(path);
  }

  Status Opaque(int directory, const std::string& path, const struct stat& info) {
    char value[2];
    const ssize_t length = fgetxattr(directory, kOpaque, value, sizeof(value));
    if (length != 1 || value[0] != 'y') return OkStatus();
    return Mark(path == "." ? kOpaqueName : path + "/" + kOpaqueName, info);
  }

  Status HardLink(const std::string& path, const std::string& to, const struct stat& info) {
    Begin(path, info);
    archive_entry_set_hardlink(entry_.get(), to.c_str());
    return End(path);
  }

  Status Symlink(int directory, const std::string& path, const std::string& name,
                 const struct stat& info) {
    char to[4096];
    const ssize_t length = readlinkat(directory, name.c_str(), to, sizeof(to) - 1);
    if (length < 0) return Of(path, ErrnoStatus(errno, "read the link"));
    to[length] = '\0';
    Begin(path, info);
    archive_entry_set_symlink(entry_.get(), to);
    return End(path);
  }

  Status File(int directory, const std::string& path, const std::string& name) {
    const UniqueFd file = OpenBelow(directory, name, O_RDONLY | O_NONBLOCK, RESOLVE_BENEATH);
    struct stat info {};
    if (!file || fstat(file.get(), &info) != 0) return Of(path, ErrnoStatus(errno, "open it"));
    if (!S_ISREG(info.st_mode)) return Of(path, InvalidArgument("it changed meanwhile"));
    const auto size = static_cast<uint64_t>(info.st_size);
    if (size > bounds_.bytes - std::min(stats_.bytes, bounds_.bytes)) {
      return Of(path, ResourceExhausted("there are more than " + std::to_string(bounds_.bytes) +
                                        " bytes"));
    }
    stats_.bytes += size;
    ODY_RETURN_IF_ERROR(Header(path, info, size));
    for (uint64_t left = size; left > 0;) {
      const ssize_t count = read(file.get(), buffer_.data(), std::min<uint64_t>(left, kCopyBytes));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return Of(path, ErrnoStatus(errno, "read it"));
      if (count == 0) return Of(path, InvalidArgument("it changed meanwhile"));
      const auto bytes = static_cast<size_t>(count);
      if (archive_write_data(writer_.get(), buffer_.data(), bytes) != count) {
        return ArchiveFailed(writer_.get());
      }
      left -= bytes;
    }
    return OkStatus();
  }

  const Form form_;
  const std::vector<std::string>& leave_out_;
  const Bounds& bounds_;
  const Archive writer_;
  const ArchiveEntry entry_;
  std::vector<char> buffer_;
  std::map<std::pair<dev_t, ino_t>, std::string> first_names_;  // of files with several
  PackStats stats_;
};

}  // namespace

Result<PackStats> PackLayer(int directory, int file, const std::vector<std::string>& leave_out,
                            const Bounds& bounds) {
  Packing packing(Form::kLayer, leave_out, bounds);
  ODY_RETURN_IF_ERROR(packing.Open(file));
  ODY_RETURN_IF_ERROR(packing.Tree(directory, ".", 0));
  return packing.Finish();
}

Result<PackStats> PackFiles(int root, const std::string& path, int file, const Bounds& bounds) {
  const std::vector<std::string> none;
  Packing packing(Form::kFiles, none, bounds);
  if (path == "/") {
    ODY_RETURN_IF_ERROR(packing.Open(file));
    ODY_RETURN_IF_ERROR(packing.Tree(root, ".", 0));
    return packing.Finish();
  }
  const std::string_view relative = std::string_view(path).substr(1);
  const std::string parent(ParentOf(relative)), name(NameOf(relative));
  // With "/." a link is on the way, and no last component, which O_PATH would open.
  const UniqueFd directory = OpenBelow(root, parent.empty() ? "." : parent + "/.",
                                       O_PATH | O_DIRECTORY, RESOLVE_BENEATH | RESOLVE_NO_XDEV);
  struct stat info {};
  if (!directory || fstatat(directory.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ELOOP) return NotFound(path + ": a link is on the way to it");
    return errno == ENOENT || errno == ENOTDIR || errno == EXDEV
               ? NotFound(path + ": the image has none")
               : ErrnoStatus(errno, "look at " + path);
  }
  ODY_ASSIGN_OR_RETURN(const uint64_t around, MountOf(root, ""));
  ODY_ASSIGN_OR_RETURN(const uint64_t own, MountOf(directory.get(), name.c_str()));
  if (own != around) return NotFound(path + ": the image has none");
  ODY_RETURN_IF_ERROR(packing.Open(file));
  ODY_RETURN_IF_ERROR(packing.Below(directory.get(), name, name, 0));
  return packing.Finish();
}

}  // namespace odyssey::image
