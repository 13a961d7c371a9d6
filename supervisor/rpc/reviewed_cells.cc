#include "supervisor/rpc/reviewed_cells.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "common/base/refusal.h"
#include "common/base/sha256.h"
#include "common/os/file.h"

namespace odyssey::supervisor {
namespace {

constexpr char kDirectory[] = "reviewed";
constexpr char kNext[] = ".next";
constexpr size_t kMaxFile = 4 * 1024 * 1024;

std::string NameOf(const v1::CellKey& key) { return Sha256Hex(key.SerializeAsString()); }

}  // namespace

Result<ReviewedCells> ReviewedCells::Open(int directory) {
  if (mkdirat(directory, kDirectory, 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "create the directory of reviewed cells");
  }
  UniqueFd fd(openat(directory, kDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open the directory of reviewed cells");
  return ReviewedCells(std::move(fd));
}

Status ReviewedCells::Remember(const v1::PrepareCellRequest& request) {
  v1::PrepareCellRequest kept = request;
  kept.mutable_sandbox()->clear_env();
  // They hold while the client keeps open what they are of: after the next start of the host a
  // device has another number.
  kept.clear_workspace_identity();
  for (auto& mount : *kept.mutable_sandbox()->mutable_mounts()) mount.clear_source_identity();
  const std::string bytes = kept.SerializeAsString();
  const std::string name = NameOf(request.key());
  const std::lock_guard lock(mutex_);
  if (const auto known = Load(name); known.ok() && known->SerializeAsString() == bytes) {
    return OkStatus();
  }
  const UniqueFd file(
      openat(directory_.get(), kNext, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return ErrnoStatus(errno, "remember a reviewed cell");
  ODY_RETURN_IF_ERROR(WriteAll(file.get(), bytes));
  const bool kept_it = fsync(file.get()) == 0 &&
                       renameat(directory_.get(), kNext, directory_.get(), name.c_str()) == 0;
  return kept_it ? OkStatus() : ErrnoStatus(errno, "remember a reviewed cell");
}

Result<v1::PrepareCellRequest> ReviewedCells::Load(const std::string& name) const {
  const UniqueFd file(openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return ErrnoStatus(errno, "open the record of a reviewed cell");
  ODY_ASSIGN_OR_RETURN(const std::string bytes,
                       ReadToTheEnd(file.get(), "the record of a reviewed cell", kMaxFile));
  v1::PrepareCellRequest request;
  if (request.ParseFromString(bytes)) return request;
  return Status(Code::kDataLoss, "the record of a reviewed cell cannot be read");
}

Result<v1::PrepareCellRequest> ReviewedCells::Find(const v1::CellKey& key) {
  const std::lock_guard lock(mutex_);
  auto found = Load(NameOf(key));
  if (found.ok() || found.status().code() != Code::kNotFound) return found;
  const std::string& name = key.session_id().empty() ? key.component() : key.session_id();
  return Refused(Code::kNotFound, "key", "\"" + name + "\"",
                 "no cell of this name has reviewed directories");
}

void ReviewedCells::Forget(const v1::CellKey& key) {
  const std::lock_guard lock(mutex_);
  unlinkat(directory_.get(), NameOf(key).c_str(), 0);
}

std::vector<v1::PrepareCellRequest> ReviewedCells::All() {
  const std::lock_guard lock(mutex_);
  std::vector<v1::PrepareCellRequest> all;
  UniqueFd fd(openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fd ? fdopendir(fd.get()) : nullptr, closedir);
  if (!stream) return all;
  fd.release();
  // Only this thread reads this stream.
  while (const dirent* entry = readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe)
    if (entry->d_name[0] == '.') continue;
    if (auto request = Load(entry->d_name); request.ok()) all.push_back(std::move(*request));
  }
  return all;
}

}  // namespace odyssey::supervisor
