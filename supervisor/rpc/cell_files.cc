#include "supervisor/rpc/cell_files.h"

#include "common/base/sha256.h"

namespace odyssey::supervisor {

Result<CellFiles> CellFiles::Open(int directory, const char* name, std::string what) {
  ODY_ASSIGN_OR_RETURN(RecordFiles files, RecordFiles::Open(directory, name, std::move(what)));
  return CellFiles(std::move(files));
}

std::string CellFiles::NameOf(const v1::CellKey& key) { return Sha256Hex(key.SerializeAsString()); }

Status CellFiles::Write(const v1::CellKey& key, std::string_view bytes) const {
  return files_.Write(NameOf(key), bytes);
}

Status CellFiles::Remove(const v1::CellKey& key) const { return files_.Remove(NameOf(key)); }

Result<std::string> CellFiles::Read(const std::string& name, size_t most) const {
  return files_.Read(name, most);
}

Result<std::vector<std::string>> CellFiles::Names() const { return files_.Names(); }

}  // namespace odyssey::supervisor
