#include "supervisor/rpc/standing_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "common/base/sha256.h"
#include "common/os/file.h"

namespace odyssey::supervisor {
namespace {

constexpr char kDirectory[] = "standings";
constexpr size_t kMaxFile = 64 * 1024;

std::string NameOf(const v1::CellKey& key) { return Sha256Hex(key.SerializeAsString()); }

}  // namespace

Result<StandingStore> StandingStore::Open(int directory) {
  if (mkdirat(directory, kDirectory, 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "create the directory of the cells' standings");
  }
  UniqueFd fd(openat(directory, kDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open the directory of the cells' standings");
  return StandingStore(std::move(fd));
}

Status StandingStore::Save(const v1::CellInfo& cell) const {
  const std::string name = NameOf(cell.key());
  const std::string next = "." + name;
  const UniqueFd file(openat(directory_.get(), next.c_str(),
                             O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return ErrnoStatus(errno, "keep the cell's standing");
  ODY_RETURN_IF_ERROR(WriteAll(file.get(), cell.SerializeAsString()));
  const bool kept = fsync(file.get()) == 0 &&
                    renameat(directory_.get(), next.c_str(), directory_.get(), name.c_str()) == 0 &&
                    fsync(directory_.get()) == 0;
  return kept ? OkStatus() : ErrnoStatus(errno, "keep the cell's standing");
}

Status StandingStore::Erase(const v1::CellKey& key) const {
  const bool gone = unlinkat(directory_.get(), NameOf(key).c_str(), 0) == 0 || errno == ENOENT;
  return gone ? OkStatus() : ErrnoStatus(errno, "remove the cell's standing");
}

Result<std::vector<v1::CellInfo>> StandingStore::All() const {
  UniqueFd fd(openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fd ? fdopendir(fd.get()) : nullptr, closedir);
  if (!stream) return ErrnoStatus(errno, "read the directory of the cells' standings");
  fd.release();
  std::vector<v1::CellInfo> all;
  // Only this thread reads this stream.
  while (const dirent* entry = readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe)
    if (entry->d_name[0] == '.') continue;
    const std::string what = std::string("audit/standings/") + entry->d_name;
    const UniqueFd file(openat(directory_.get(), entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file) return ErrnoStatus(errno, "open " + what);
    ODY_ASSIGN_OR_RETURN(const std::string bytes, ReadToTheEnd(file.get(), what, kMaxFile));
    if (!all.emplace_back().ParseFromString(bytes) || NameOf(all.back().key()) != entry->d_name) {
      return Status(Code::kDataLoss, what +
                                         " cannot be read: it is the standing of a stopped or "
                                         "quarantined cell; remove it to let that cell run");
    }
  }
  return all;
}

}  // namespace odyssey::supervisor
