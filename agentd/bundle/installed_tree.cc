#include "agentd/bundle/installed_tree.h"

#include <errno.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "agentd/package/installation.h"
#include "common/oci/digest.h"
#include "policy/dialect/bundle_tree.h"

namespace odyssey::bundle {
namespace {

namespace fs = std::filesystem;
std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    out.push_back(entry.path().filename());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Calls `use` with each DIR/NS/ID/VERSION and what its bundle.json says, if that is the same names.
template <typename Use>
void ForEachInstallation(const std::string& directory, const Use& use) {
  for (const std::string& ns : NamesIn(directory)) {
    for (const std::string& id : NamesIn(directory + "/" + ns)) {
      for (const std::string& version : NamesIn(directory + "/" + ns + "/" + id)) {
        const std::string path = directory + "/" + ns + "/" + id + "/" + version;
        std::optional<BundlePin> pin = ReadInstallation(path);
        if (pin && (pin->ns != ns || pin->id != id || pin->version != version)) pin.reset();
        use(path, std::move(pin));
      }
    }
  }
}

}  // namespace

Result<std::shared_ptr<const InstalledBundle>> LoadTree(const BundlePin& pin,
                                                        const std::string& tree) {
  ODY_ASSIGN_OR_RETURN(dialect::Bundle spec, dialect::LoadBundle(tree));
  if (spec.id != pin.id || spec.version != pin.version) {
    return oci::InvalidBundle("its config says " + pin.id + "@" + pin.version + ", its manifest " +
                              spec.id + "@" + spec.version);
  }
  dialect::NamePlacesInBundle(&spec);
  return std::make_shared<const InstalledBundle>(InstalledBundle{pin, tree, std::move(spec)});
}

Status MakeMountPoint(const std::string& tree) {
  const std::string mount = tree + "/" + dialect::kMountDirectory;
  if (mkdir(mount.c_str(), 0755) != 0) return ErrnoStatus(errno, "create " + mount);
  if (chmod(mount.c_str(), 0755) != 0) return ErrnoStatus(errno, "chmod " + mount);
  return OkStatus();
}

std::optional<BundlePin> ReadInstallation(const std::string& installed) {
  const std::optional<package::Metadata> found = package::ReadMetadata(installed);
  if (!found) return std::nullopt;
  return BundlePin{found->id, found->version, found->digest, found->ns};
}

std::vector<std::pair<std::string, BundlePin>> ReadInstallations(const std::string& directory) {
  std::vector<std::pair<std::string, BundlePin>> out;
  ForEachInstallation(directory, [&](const std::string& path, std::optional<BundlePin> pin) {
    if (pin) out.emplace_back(path, *std::move(pin));
  });
  return out;
}

std::vector<std::string> DamagedInstallations(const std::string& directory) {
  std::vector<std::string> out;
  ForEachInstallation(directory, [&](const std::string& path, const std::optional<BundlePin>& pin) {
    if (!pin) out.push_back(path);
  });
  return out;
}

void RemoveUnusedNames(const std::string& directory, const std::set<std::string>& used) {
  std::error_code ignored;
  for (const std::string& name : NamesIn(directory)) {
    if (used.count(name) == 0) fs::remove_all(directory + "/" + name, ignored);
  }
}

}  // namespace odyssey::bundle
