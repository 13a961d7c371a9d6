#include "agentd/package/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "agentd/package/bundle_files.h"
#include "common/oci/digest.h"
#include "common/os/file.h"
#include "policy/dialect/bundle_tree.h"
#include "policy/dialect/node.h"

namespace odyssey::package {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kJson5Manifest[] = "odyssey.bundle.json5";
constexpr const char* kManifestNames[] = {kJson5Manifest, "odyssey.bundle.yaml",
                                          "odyssey.bundle.yml"};
constexpr char kOldAgentFile[] = "agent.yaml";
constexpr char kSkillDirectory[] = "skills/";

Json Parsed(const std::string& text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// "./bin//x" → "bin/x".
std::string Normalised(const std::string& path) {
  std::string out;
  for (size_t start = 0; start <= path.size();) {
    const size_t slash = std::min(path.find('/', start), path.size());
    const std::string component = path.substr(start, slash - start);
    if (!component.empty() && component != ".") out += (out.empty() ? "" : "/") + component;
    start = slash + 1;
  }
  return out;
}

void AddTexts(const Json& list, std::set<std::string>* out) {
  if (!list.is_array()) return;
  for (const Json& item : list) {
    if (item.is_string()) out->insert(Normalised(item.get<std::string>()));
  }
}

// The files that are executable: as annotated, or as the manifest's filesystem.exec has it.
Result<std::set<std::string>> ExecutablesOf(const Parts& parts) {
  std::set<std::string> out;
  const auto annotated = parts.manifest.annotations.find(oci::kExecutablesAnnotation);
  if (annotated != parts.manifest.annotations.end()) {
    const Json list = Parsed(annotated->second);
    if (!list.is_array()) {
      return oci::InvalidBundle("annotation " + annotated->first + " is not a list of paths");
    }
    AddTexts(list, &out);
    return out;
  }
  const Json manifest = Parsed(parts.config.bundle_manifest);
  for (const char* root : {"", "/spec"}) {
    const Json::json_pointer exec(std::string(root) + "/sandbox/permissions/filesystem/exec");
    if (manifest.is_object() && manifest.contains(exec)) AddTexts(manifest[exec], &out);
  }
  return out;
}

bool Holds(const std::set<std::string>& paths, const std::string& path) {
  if (paths.count(path) != 0) return true;
  const auto below = paths.lower_bound(path + "/");
  return below != paths.end() && below->rfind(path + "/", 0) == 0;
}

// Other builders put an agent's file and skills where the manifest does not name them.
void NameWhereTheyAre(const std::set<std::string>& paths, Json* manifest) {
  const auto moved = [&](const Json& at, const std::string& to) {
    return at.is_string() && !Holds(paths, Normalised(at.get<std::string>())) && Holds(paths, to);
  };
  if (manifest->contains("agent_spec") && moved((*manifest)["agent_spec"], kOldAgentFile)) {
    (*manifest)["agent_spec"] = kOldAgentFile;
  }
  if (!manifest->contains("skills") || !(*manifest)["skills"].is_array()) return;
  for (Json& skill : (*manifest)["skills"]) {
    if (!skill.is_object() || !skill.contains("path") || !skill.contains("name")) continue;
    if (!skill["name"].is_string()) continue;
    const std::string to = kSkillDirectory + skill["name"].get<std::string>();
    if (moved(skill["path"], to)) skill["path"] = to;
  }
}

// The text of odyssey.bundle.json5 for layers without a manifest; nullopt: they have one. What is
// shown of the config is what runs: the annotated text must mean the same.
Result<std::optional<std::string>> MissingManifest(const Parts& parts,
                                                   const std::set<std::string>& paths) {
  const bool in_layer = std::any_of(std::begin(kManifestNames), std::end(kManifestNames),
                                    [&](const char* name) { return paths.count(name) != 0; });
  const auto annotated = parts.manifest.annotations.find(oci::kManifestTextAnnotation);
  const bool has_text = annotated != parts.manifest.annotations.end();
  if (in_layer && has_text) {
    return oci::InvalidBundle("both a layer and the annotation " + annotated->first +
                              " hold a manifest");
  }
  if (in_layer) return std::optional<std::string>();
  Json manifest = Parsed(parts.config.bundle_manifest);
  if (!manifest.is_object()) return oci::InvalidBundle("bundle config holds no bundle_manifest");
  if (!has_text) {
    NameWhereTheyAre(paths, &manifest);
    return std::optional<std::string>(manifest.dump(2) + "\n");
  }
  dialect::Problems problems;
  const auto node =
      dialect::ParseDocument(dialect::Format::kJson5, kJson5Manifest, annotated->second, &problems);
  if (!node) return dialect::ToStatus(problems);
  if (Parsed(dialect::ToJson(*node)) != manifest) {
    return oci::InvalidBundle("annotation " + annotated->first +
                              " is not the config's bundle_manifest");
  }
  return std::optional<std::string>(annotated->second);
}

// Reads the layers into `sink`.
Status DecodeLayers(const LayoutDirectory& layout, const Parts& parts, oci::EntrySink* sink) {
  for (const oci::Descriptor& layer : parts.manifest.layers) {
    ODY_ASSIGN_OR_RETURN(const UniqueFd fd, layout.OpenBlob(layer));
    oci::EntryDecoder decoder(oci::kLayerFormat, sink);
    Sha256 hash;
    ODY_RETURN_IF_ERROR(
        ReadInPieces(fd.get(), layout.BlobPath(layer.digest), [&](std::string_view bytes) {
          hash.Update(bytes);
          return decoder.Feed(bytes);
        }));
    ODY_RETURN_IF_ERROR(decoder.Finish());
    if (hash.Hex() != layer.digest) {
      return oci::InvalidBundle("blob bytes do not match digest " + oci::DigestOf(layer.digest));
    }
  }
  return OkStatus();
}

// Whatever the umask: inside a cell another uid reads it.
Status MakeOpenDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0755) != 0) return ErrnoStatus(errno, "create " + path);
  if (chmod(path.c_str(), 0755) != 0) return ErrnoStatus(errno, "chmod " + path);
  return OkStatus();
}

// Writes the files. The tree is new and has no links, so that paths below it lead into it alone.
class TreeWriter final : public oci::EntrySink {
 public:
  TreeWriter(std::string tree, const std::set<std::string>* executables)
      : tree_(std::move(tree)), executables_(executables) {}

  Status Begin(const std::string& path, uint64_t bytes) override {
    ODY_RETURN_IF_ERROR(MakeParents(path));
    ODY_RETURN_IF_ERROR(CheckNew(path, path.substr(path.rfind('/') + 1), Depth(path)));
    ODY_RETURN_IF_ERROR(count_.AddFile(path, bytes));
    if (directories_.count(path) != 0 || !paths_.insert(path).second) {
      return oci::InvalidBundle("payload entry comes twice: " + path);
    }
    path_ = tree_ + "/" + path;
    const mode_t mode = executables_->count(path) != 0 ? 0755 : 0644;
    file_.reset(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!file_) return ErrnoStatus(errno, "create " + path_);
    if (fchmod(file_.get(), mode) != 0) return ErrnoStatus(errno, "chmod " + path_);
    return OkStatus();
  }
  Status Data(std::string_view bytes) override { return WriteAll(file_.get(), bytes); }
  Status End() override {
    if (fsync(file_.get()) != 0) return ErrnoStatus(errno, "sync " + path_);
    file_.reset();
    return OkStatus();
  }

  const std::set<std::string>& paths() const { return paths_; }

 private:
  static int Depth(const std::string& path) {
    return static_cast<int>(std::count(path.begin(), path.end(), '/'));
  }

  Status CheckNew(const std::string& path, const std::string& name, int depth) {
    const dialect::BundleEntry entry = {path, name, depth};
    if (dialect::IsLeftOut(entry)) {
      return oci::InvalidBundle("payload entry path is reserved: " + path);
    }
    ODY_RETURN_IF_ERROR(dialect::CheckBundleName(entry));
    ODY_RETURN_IF_ERROR(dialect::CheckBundleDepth(path, depth));
    return count_.AddEntry(path);
  }

  Status MakeParents(const std::string& path) {
    for (size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      const std::string parent = path.substr(0, slash);
      if (!directories_.insert(parent).second) continue;
      if (paths_.count(parent) != 0) {
        return oci::InvalidBundle("payload entry is a file and a directory: " + parent);
      }
      ODY_RETURN_IF_ERROR(CheckNew(parent, parent.substr(parent.rfind('/') + 1), Depth(parent)));
      ODY_RETURN_IF_ERROR(MakeOpenDirectory(tree_ + "/" + parent));
    }
    return OkStatus();
  }

  const std::string tree_;
  const std::set<std::string>* const executables_;
  dialect::BundleCount count_;
  std::set<std::string> directories_, paths_;
  UniqueFd file_;
  std::string path_;
};

Status WriteWhole(oci::EntrySink* sink, const std::string& path, const std::string& text) {
  ODY_RETURN_IF_ERROR(sink->Begin(path, text.size()));
  ODY_RETURN_IF_ERROR(sink->Data(text));
  return sink->End();
}

Status Differs(const std::string& path) {
  return {Code::kDataLoss, "bundle file " + path + " was changed in the store"};
}

// Compares instead of writing.
class TreeComparer final : public oci::EntrySink {
 public:
  explicit TreeComparer(std::string tree) : tree_(std::move(tree)) {}

  Status Begin(const std::string& path, uint64_t bytes) override {
    paths_.insert(path);
    path_ = tree_ + "/" + path;
    file_.reset(open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat info;
    if (!file_ || fstat(file_.get(), &info) != 0) return Differs(path_);
    return static_cast<uint64_t>(info.st_size) == bytes ? OkStatus() : Differs(path_);
  }
  Status Data(std::string_view bytes) override {
    std::string own(bytes.size(), '\0');
    for (size_t done = 0; done < own.size();) {
      const ssize_t n = read(file_.get(), own.data() + done, own.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return Differs(path_);
      done += static_cast<size_t>(n);
    }
    return own == bytes ? OkStatus() : Differs(path_);
  }
  Status End() override { return OkStatus(); }

  const std::set<std::string>& paths() const { return paths_; }

 private:
  const std::string tree_;
  std::set<std::string> paths_;
  UniqueFd file_;
  std::string path_;
};

}  // namespace

Status UnpackBundle(const LayoutDirectory& layout, const Parts& parts, const std::string& tree) {
  ODY_ASSIGN_OR_RETURN(const std::set<std::string> executables, ExecutablesOf(parts));
  ODY_RETURN_IF_ERROR(MakeOpenDirectory(tree));
  TreeWriter writer(tree, &executables);
  ODY_RETURN_IF_ERROR(DecodeLayers(layout, parts, &writer));
  ODY_ASSIGN_OR_RETURN(const std::optional<std::string> manifest,
                       MissingManifest(parts, writer.paths()));
  return manifest ? WriteWhole(&writer, kJson5Manifest, *manifest) : OkStatus();
}

Status VerifyTree(const LayoutDirectory& layout, const Parts& parts, const std::string& tree) {
  TreeComparer comparer(tree);
  ODY_RETURN_IF_ERROR(DecodeLayers(layout, parts, &comparer));
  ODY_ASSIGN_OR_RETURN(const std::optional<std::string> manifest,
                       MissingManifest(parts, comparer.paths()));
  if (manifest) ODY_RETURN_IF_ERROR(WriteWhole(&comparer, kJson5Manifest, *manifest));
  ODY_ASSIGN_OR_RETURN(const std::set<std::string> executables, ExecutablesOf(parts));
  ODY_ASSIGN_OR_RETURN(const std::vector<BundleFile> files, ListTreeFiles(tree));
  for (const BundleFile& file : files) {
    const bool executable = executables.count(file.path) != 0;
    if (comparer.paths().count(file.path) == 0 || file.executable != executable) {
      return Differs(tree + "/" + file.path);
    }
  }
  return OkStatus();
}

}  // namespace odyssey::package
