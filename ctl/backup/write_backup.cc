#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "common/base/sha256.h"
#include "common/base/version.h"
#include "common/os/atomic_file.h"
#include "common/os/unique_fd.h"
#include "ctl/backup/backup.h"
#include "ctl/backup/tar_stream.h"

namespace odyssey::ctl {
namespace {

constexpr int kAttempts = 200;
constexpr auto kBetweenAttempts = std::chrono::milliseconds(20);
constexpr size_t kPiece = 64 * 1024;

// A file as it was, copied to where it cannot change.
struct Copy {
  std::string name;
  struct stat info {};
  UniqueFd content;
};

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec && a.st_ctim.tv_sec == b.st_ctim.tv_sec &&
         a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

bool IsTransient(const std::string& name) {
  // A token that was revoked since must not be one again.
  return name == "agentd/lock" || name == "agentd/tokens.json" ||
         name.find(kTemporaryInfix) != name.npos ||
         (IsBelow(name, "agentd/journals") && name.ends_with(".tmp")) ||
         (IsBelow(name, "agentd/bundles/imports") && name != "agentd/bundles/imports");
}

// Reads below directories that a daemon's user may write: no link is followed, and a file of
// another user is refused, which a hard link could have brought there.
class Source final {
 public:
  Source(UniqueFd state, std::string directory, uid_t owner)
      : state_(std::move(state)), directory_(std::move(directory)), owner_(owner) {}

  // nullopt: there is none (any more).
  Result<std::optional<UniqueFd>> Open(const std::string& name, int flags,
                                       struct stat* info) const {
    UniqueFd at(dup(state_.get()));
    for (size_t begin = 0; at;) {
      const size_t end = name.find('/', begin);
      const std::string part = name.substr(begin, end - begin);
      const bool last = end == name.npos;
      at = UniqueFd(
          openat(at.get(), part.c_str(),
                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (last ? flags : O_DIRECTORY)));
      if (last) break;
      begin = end + 1;
    }
    if (!at && errno == ENOENT) return std::optional<UniqueFd>();
    if (!at || fstat(at.get(), info) != 0) return ErrnoStatus(errno, "open " + Path(name));
    if (info->st_uid != owner_) {
      return FailedPrecondition(Path(name) + " belongs to uid " + std::to_string(info->st_uid) +
                                " and not to " + std::to_string(owner_));
    }
    return std::optional(std::move(at));
  }

  // Names of the files and directories in `name`, sorted.
  Result<std::vector<std::string>> List(int fd, const std::string& name) const {
    UniqueFd own(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(own ? fdopendir(own.get()) : nullptr, closedir);
    if (dir == nullptr) return ErrnoStatus(errno, "read " + Path(name));
    own.release();
    std::vector<std::string> names;
    // Only this thread reads this stream.
    while (const dirent* entry = readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe)
      const std::string found = entry->d_name;
      if (found != "." && found != "..") names.push_back(name + "/" + found);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // The regular file; nullopt: there is none.
  Result<std::optional<Copy>> CopyOf(const std::string& name) const {
    Copy copy{.name = name};
    ODY_ASSIGN_OR_RETURN(const std::optional<UniqueFd> fd, Open(name, 0, &copy.info));
    if (!fd) return std::optional<Copy>();
    if (!S_ISREG(copy.info.st_mode)) return FailedPrecondition(Path(name) + " is no regular file");
    copy.content = UniqueFd(openat(state_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!copy.content) return ErrnoStatus(errno, "make a temporary file in " + directory_);
    for (off_t left = copy.info.st_size; left > 0;) {
      const ssize_t n = copy_file_range(fd->get(), nullptr, copy.content.get(), nullptr,
                                        static_cast<size_t>(left), 0);
      if (n < 0) return ErrnoStatus(errno, "copy " + Path(name));
      if (n == 0) break;  // it became shorter: seen by the comparison
      left -= n;
    }
    return std::optional(std::move(copy));
  }

  // The files as they all were at one moment: none changed from the first look to the last.
  Result<std::vector<Copy>> CopiesOf(const std::vector<std::string>& names) const {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (attempt > 0) std::this_thread::sleep_for(kBetweenAttempts);
      std::vector<Copy> copies;
      std::set<std::string> absent;
      for (const std::string& name : names) {
        ODY_ASSIGN_OR_RETURN(std::optional<Copy> copy, CopyOf(name));
        copy ? copies.push_back(*std::move(copy)) : static_cast<void>(absent.insert(name));
      }
      ODY_ASSIGN_OR_RETURN(const bool same, AreStill(copies, absent));
      if (same) return copies;
    }
    return Unavailable(Path(names.front()) +
                       ": it changed whenever it was copied; try again when its turns have ended");
  }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

 private:
  Result<bool> AreStill(const std::vector<Copy>& copies,
                        const std::set<std::string>& absent) const {
    struct stat now;
    for (const Copy& copy : copies) {
      ODY_ASSIGN_OR_RETURN(const auto fd, Open(copy.name, 0, &now));
      if (!fd || !SameFile(now, copy.info)) return false;
    }
    for (const std::string& name : absent) {
      ODY_ASSIGN_OR_RETURN(const auto fd, Open(name, 0, &now));
      if (fd) return false;
    }
    return true;
  }

  const UniqueFd state_;
  const std::string directory_;
  const uid_t owner_;
};

class BackupWriter final {
 public:
  explicit BackupWriter(int fd) : tar_(fd) {}

  Status Add(const Source& source, const std::string& name) {
    if (IsTransient(name) || done_.count(name) != 0) return OkStatus();
    struct stat info {};
    ODY_ASSIGN_OR_RETURN(const std::optional<UniqueFd> fd, source.Open(name, 0, &info));
    if (!fd) return OkStatus();
    if (S_ISDIR(info.st_mode)) {
      ODY_RETURN_IF_ERROR(tar_.Begin({.name = name,
                                      .directory = true,
                                      .mode = info.st_mode & 0777,
                                      .mtime = info.st_mtim.tv_sec}));
      ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, source.List(fd->get(), name));
      for (const std::string& each : names) ODY_RETURN_IF_ERROR(Add(source, each));
      return OkStatus();
    }
    return AddFiles(source, {name});
  }

  // A session is its file, its turns and its events, as they were at one moment.
  Status AddSessions(const Source& source) {
    struct stat info {};
    ODY_ASSIGN_OR_RETURN(const auto fd, source.Open("agentd/sessions", O_DIRECTORY, &info));
    if (!fd) return OkStatus();
    ODY_ASSIGN_OR_RETURN(const auto names, source.List(fd->get(), "agentd/sessions"));
    for (const std::string& name : names) {
      if (!name.ends_with(".json") || IsTransient(name)) continue;
      const std::string stem = name.substr(0, name.size() - 5);
      const std::string id = stem.substr(stem.rfind('/') + 1);
      const std::vector<std::string> group = {name, stem + ".turns",
                                              "agentd/journals/" + id + ".jsonl"};
      ODY_RETURN_IF_ERROR(AddFiles(source, group));
      summary_.sessions += done_.count(name);
      done_.insert(group.begin(), group.end());
    }
    return OkStatus();
  }

  Result<BackupSummary> Finish(bool with_secrets) {
    summary_.secrets = with_secrets;
    const Json manifest = {{"format", kBackupFormat},
                           {"version", kVersion},
                           {"sessions", summary_.sessions},
                           {"secrets", with_secrets},
                           {"files", std::move(files_)}};
    const std::string text = manifest.dump(1) + "\n";
    ODY_RETURN_IF_ERROR(tar_.Begin({.name = kBackupManifest, .size = text.size()}));
    ODY_RETURN_IF_ERROR(tar_.Data(text));
    ODY_RETURN_IF_ERROR(tar_.End());
    ODY_RETURN_IF_ERROR(tar_.Finish());
    return summary_;
  }

 private:
  Status AddFiles(const Source& source, const std::vector<std::string>& names) {
    ODY_ASSIGN_OR_RETURN(const std::vector<Copy> copies, source.CopiesOf(names));
    // A session without its own file was removed meanwhile.
    if (copies.empty() || copies.front().name != names.front()) return OkStatus();
    for (const Copy& copy : copies) ODY_RETURN_IF_ERROR(AddCopy(source, copy));
    return OkStatus();
  }

  Status AddCopy(const Source& source, const Copy& copy) {
    const auto size = static_cast<uint64_t>(copy.info.st_size);
    ODY_RETURN_IF_ERROR(tar_.Begin({.name = copy.name,
                                    .mode = copy.info.st_mode & 0777,
                                    .size = size,
                                    .mtime = copy.info.st_mtim.tv_sec}));
    Sha256 digest;
    std::string piece(kPiece, '\0');
    for (uint64_t at = 0; at < size;) {
      const ssize_t n =
          pread(copy.content.get(), piece.data(), piece.size(), static_cast<off_t>(at));
      if (n <= 0)
        return ErrnoStatus(n < 0 ? errno : EIO, "read the copy of " + source.Path(copy.name));
      const std::string_view bytes(piece.data(), static_cast<size_t>(n));
      digest.Update(bytes);
      ODY_RETURN_IF_ERROR(tar_.Data(bytes));
      at += bytes.size();
    }
    ODY_RETURN_IF_ERROR(tar_.End());
    files_.push_back({{"name", copy.name}, {"bytes", size}, {"sha256", digest.Hex()}});
    done_.insert(copy.name);
    ++summary_.files;
    summary_.bytes += size;
    return OkStatus();
  }

  TarWriter tar_;
  Json files_ = Json::array();
  std::set<std::string> done_;
  BackupSummary summary_;
};

}  // namespace

Result<BackupSummary> WriteBackup(const StateLayout& layout, bool with_secrets, int fd) {
  BackupWriter writer(fd);
  const DaemonIdentities ids = ChooseIdentities();
  for (const BackupPart& part : BackupParts(ids)) {
    if (part.secret && !with_secrets) continue;
    UniqueFd state(open(layout.state.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!state) return ErrnoStatus(errno, "open " + layout.state);
    const Source source(std::move(state), layout.state, part.owner.uid);
    if (part.name == "agentd") ODY_RETURN_IF_ERROR(writer.AddSessions(source));
    ODY_RETURN_IF_ERROR(writer.Add(source, part.name));
  }
  return writer.Finish(with_secrets);
}

}  // namespace odyssey::ctl
