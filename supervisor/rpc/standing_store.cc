#include "supervisor/rpc/standing_store.h"

namespace odyssey::supervisor {
namespace {

constexpr char kDirectory[] = "standings";
constexpr size_t kMaxFile = 64 * 1024;

}  // namespace

Result<StandingStore> StandingStore::Open(int directory) {
  ODY_ASSIGN_OR_RETURN(CellFiles files,
                       CellFiles::Open(directory, kDirectory, "the cell's standing"));
  return StandingStore(std::move(files));
}

Status StandingStore::Save(const v1::CellInfo& cell) const {
  return files_.Write(cell.key(), cell.SerializeAsString());
}

Status StandingStore::Erase(const v1::CellKey& key) const { return files_.Remove(key); }

Result<std::vector<v1::CellInfo>> StandingStore::All() const {
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.Names());
  std::vector<v1::CellInfo> all;
  for (const std::string& name : names) {
    ODY_ASSIGN_OR_RETURN(const std::string bytes, files_.Read(name, kMaxFile));
    if (!all.emplace_back().ParseFromString(bytes) || CellFiles::NameOf(all.back().key()) != name) {
      return Status(Code::kDataLoss, "audit/standings/" + name +
                                         " cannot be read: it is the standing of a stopped or "
                                         "quarantined cell; remove it to let that cell run");
    }
  }
  return all;
}

}  // namespace odyssey::supervisor
