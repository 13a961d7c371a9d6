#include "agentd/bundle/legacy_copies.h"

#include <filesystem>
#include <set>
#include <vector>

#include "agentd/bundle/installed_tree.h"
#include "agentd/package/bundle_files.h"
#include "common/base/sha256.h"
#include "common/oci/digest.h"
#include "common/os/file.h"

namespace odyssey::bundle {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxCopiedFileBytes = 8 * 1024 * 1024;
constexpr size_t kHexDigits = 64;
// Of the store's directory, which are no bundle's id: a namespace below installs/ may look like a
// copy.
const std::set<std::string> kOwnNames = {"installs", "users", "blobs", "trees", "imports"};

// sha256 over path, whether executable, and content of each file. Hex.
Result<std::string> DigestOfCopy(const std::string& copy) {
  ODY_ASSIGN_OR_RETURN(const std::vector<package::BundleFile> files, package::ListTreeFiles(copy));
  Sha256 hash;
  for (const package::BundleFile& file : files) {
    ODY_ASSIGN_OR_RETURN(const std::string content,
                         ReadFile(copy + "/" + file.path, kMaxCopiedFileBytes));
    hash.Update(std::to_string(file.path.size()) + ":" + file.path + (file.executable ? "x" : "-") +
                std::to_string(content.size()) + ":");
    hash.Update(content);
  }
  return hash.Hex();
}

// The digest in the name of a copy; empty: the name is not a copy's.
std::string DigestInName(const std::string& name) {
  if (name.size() <= kHexDigits || name[name.size() - kHexDigits - 1] != '-') return "";
  std::string digest = name.substr(name.size() - kHexDigits);
  return oci::IsHex(digest) ? digest : "";
}

}  // namespace

Result<std::shared_ptr<const InstalledBundle>> LoadLegacyCopy(const BundlePin& pin,
                                                              const std::string& copy) {
  ODY_ASSIGN_OR_RETURN(const std::string digest, DigestOfCopy(copy));
  if (digest == pin.digest) return LoadTree(pin, copy);
  return Status(Code::kDataLoss, "installed bundle " + copy + " was changed: digest " + digest +
                                     ", expected " + pin.digest);
}

void MoveLegacyCopies(const std::string& directory) {
  std::error_code ignored;
  std::vector<fs::path> copies;
  for (const auto& bundle : fs::directory_iterator(directory, ignored)) {
    if (kOwnNames.count(bundle.path().filename()) != 0) continue;
    for (const auto& copy : fs::directory_iterator(bundle.path(), ignored)) {
      if (!DigestInName(copy.path().filename()).empty()) copies.push_back(copy.path());
    }
  }
  for (const fs::path& copy : copies) {
    fs::create_directories(directory + "/trees", ignored);
    fs::rename(copy, directory + "/trees/" + DigestInName(copy.filename()), ignored);
    fs::remove(copy.parent_path(), ignored);  // if it is empty
  }
}

}  // namespace odyssey::bundle
