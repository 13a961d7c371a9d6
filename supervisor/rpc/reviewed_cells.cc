#include "supervisor/rpc/reviewed_cells.h"

#include "common/base/refusal.h"

namespace odyssey::supervisor {
namespace {

constexpr char kDirectory[] = "reviewed";
constexpr size_t kMaxFile = 4 * 1024 * 1024;

}  // namespace

Result<ReviewedCells> ReviewedCells::Open(int directory) {
  ODY_ASSIGN_OR_RETURN(CellFiles files,
                       CellFiles::Open(directory, kDirectory, "the record of a reviewed cell"));
  return ReviewedCells(std::move(files));
}

Status ReviewedCells::Remember(const v1::PrepareCellRequest& request) {
  v1::PrepareCellRequest kept = request;
  kept.mutable_sandbox()->clear_env();
  // They hold while the client keeps open what they are of: after the next start of the host a
  // device has another number.
  kept.clear_workspace_identity();
  for (auto& mount : *kept.mutable_sandbox()->mutable_mounts()) mount.clear_source_identity();
  const std::string bytes = kept.SerializeAsString();
  const std::lock_guard lock(mutex_);
  const auto known = Load(CellFiles::NameOf(request.key()));
  if (known.ok() && known->SerializeAsString() == bytes) return OkStatus();
  return files_.Write(request.key(), bytes);
}

Result<v1::PrepareCellRequest> ReviewedCells::Load(const std::string& name) const {
  ODY_ASSIGN_OR_RETURN(const std::string bytes, files_.Read(name, kMaxFile));
  v1::PrepareCellRequest request;
  if (request.ParseFromString(bytes)) return request;
  return Status(Code::kDataLoss, "the record of a reviewed cell cannot be read");
}

Result<v1::PrepareCellRequest> ReviewedCells::Find(const v1::CellKey& key) {
  const std::lock_guard lock(mutex_);
  auto found = Load(CellFiles::NameOf(key));
  if (found.ok() || found.status().code() != Code::kNotFound) return found;
  const std::string& name = key.session_id().empty() ? key.component() : key.session_id();
  return Refused(Code::kNotFound, "key", "\"" + name + "\"",
                 "no cell of this name has reviewed directories");
}

void ReviewedCells::Forget(const v1::CellKey& key) {
  const std::lock_guard lock(mutex_);
  (void)files_.Remove(key);
}

std::vector<v1::PrepareCellRequest> ReviewedCells::All() {
  const std::lock_guard lock(mutex_);
  std::vector<v1::PrepareCellRequest> all;
  const Result<std::vector<std::string>> names = files_.Names();
  if (!names.ok()) return all;
  for (const std::string& name : *names) {
    if (auto request = Load(name); request.ok()) all.push_back(std::move(*request));
  }
  return all;
}

}  // namespace odyssey::supervisor
