#include "policy/executables/closure.h"

#include <algorithm>
#include <sstream>

#include "common/base/refusal.h"

namespace odyssey::executables {
namespace {

using elf::Kind;

bool IsCoveredBy(const compile::Executable& file, const compile::Executable& directory) {
  return file.path.rfind(directory.path + "/", 0) == 0 && (directory.run || !file.run);
}

// What env(1) is to run: the first word that is neither an option nor an assignment.
std::string CommandOfEnv(const std::string& argument) {
  std::istringstream words(argument);
  for (std::string word; words >> word;) {
    if (word[0] != '-' && word.find('=') == std::string::npos) return word;
  }
  return "";
}

Status Unusable(const std::string& what, const std::string& why) {
  return Refused(Code::kFailedPrecondition, "executables", what, why);
}

}  // namespace

std::string FindProgram(const HostTree& tree, const std::string& name) {
  for (const char* directory : kSearchPath) {
    const Result<std::string> canonical = tree.Canonical(std::string(directory) + "/" + name);
    if (!canonical.ok()) continue;
    const auto info = tree.Look(*canonical);
    if (!info || !info->regular || !info->executable) continue;
    return compile::IsInSystemTree(*canonical) ? *canonical : "";
  }
  return "";
}

Status Closure::Add(const std::string& entry) {
  const bool is_path = entry.rfind('/', 0) == 0;
  const Result<std::string> canonical = is_path ? Resolve(entry) : Search(entry);
  if (canonical.status().code() == Code::kNotFound) {
    return OfField("executables", NotFound("missing system tool: " + entry), entry);
  }
  ODY_RETURN_IF_ERROR(canonical.status());
  ODY_RETURN_IF_ERROR(AddNamed(entry, *canonical));
  return DrainQueue();
}

Status Closure::AddNamed(const std::string& entry, const std::string& canonical) {
  if (!compile::IsInSystemTree(canonical)) {
    return Unusable(entry, "it leads to " + canonical +
                               ", outside the system's trees; mount that and name it there");
  }
  const auto info = tree_->Look(canonical);
  if (!info) return OfField("executables", NotFound("missing system tool: " + entry), entry);
  if (info->directory) {
    Want(canonical, /*run=*/true, "named " + entry);
    return Walk(canonical, /*run=*/true);
  }
  const Result<elf::Image> image = tree_->ReadImage(canonical);
  if (!image.ok()) return Unusable(entry, image.status().message());
  if (image->kind == Kind::kOther) return Unusable(entry, "neither a program nor a script");
  Want(canonical, /*run=*/true, "named " + entry);
  return OkStatus();
}

Result<std::string> Closure::Resolve(const std::string& path) {
  Result<std::string> canonical = tree_->Canonical(path);
  // Also where it leads nowhere: that may change.
  resolved_[path] = canonical.ok() ? *canonical : "";
  return canonical;
}

Result<std::string> Closure::Search(const std::string& name) {
  for (const char* directory : kSearchPath) {
    Result<std::string> canonical = Resolve(std::string(directory) + "/" + name);
    if (!canonical.ok()) continue;
    const auto info = tree_->Look(*canonical);
    if (info && info->regular && info->executable) return canonical;
  }
  return NotFound("find " + name);
}

void Closure::Want(const std::string& path, bool run, const std::string& why,
                   std::vector<std::string> inherited) {
  const auto [it, added] = found_.emplace(path, compile::Executable{path, run, why});
  if (!added) {
    if (!run || it->second.run) return;
    it->second = {path, run, why};
  }
  queue_.push_back({path, run, std::move(inherited)});
}

Status Closure::DrainQueue() {
  while (!queue_.empty()) {
    const Wanted wanted = std::move(queue_.front());
    queue_.pop_front();
    if (++files_read_ > kMaxFiles) {
      return Unusable("the programs named",
                      "they need more than " + std::to_string(kMaxFiles) + " files; name fewer");
    }
    ODY_RETURN_IF_ERROR(ReadOne(wanted));
  }
  return OkStatus();
}

Status Closure::ReadOne(const Wanted& wanted) {
  if (walked_.count(wanted.path) != 0) return OkStatus();
  const Result<elf::Image> image = tree_->ReadImage(wanted.path);
  if (!image.ok() || image->kind == Kind::kOther) {
    // The loader passes over it too: a library of another word size, a linker script.
    found_.erase(wanted.path);
    return OkStatus();
  }
  if (image->kind == Kind::kScript) {
    if (wanted.run) ODY_RETURN_IF_ERROR(TakeScript(wanted.path, *image));
    return OkStatus();
  }
  if (wanted.run && !image->interpreter.empty()) {
    ODY_RETURN_IF_ERROR(TakeInterpreter(wanted.path, image->interpreter));
  }
  TakeElf(wanted, *image);
  TakeCompanions(wanted.path);
  return OkStatus();
}

void Closure::TakeElf(const Wanted& wanted, const elf::Image& image) {
  const std::string origin = DirectoryOf(wanted.path);
  std::vector<std::string> inherited = wanted.inherited;
  std::vector<std::string> own;
  if (image.runpath.empty()) {
    const auto rpath = ExpandOrigin(image.rpath, origin);
    inherited.insert(inherited.begin(), rpath.begin(), rpath.end());
    own = inherited;
  } else {
    own = ExpandOrigin(image.runpath, origin);
  }
  for (const std::string& name : image.needed) {
    bool any = false;
    for (const std::string& library : libraries_->Find(name, own)) {
      if (!compile::IsInSystemTree(library)) continue;
      Want(library, /*run=*/false, "library of " + wanted.path, inherited);
      any = true;
    }
    if (!any) Note(name + ": missing: a library of " + wanted.path);
  }
}

Status Closure::TakeInterpreter(const std::string& path, const std::string& interpreter) {
  const Result<std::string> canonical = Resolve(interpreter);
  if (!canonical.ok() || !compile::IsInSystemTree(*canonical)) {
    return Unusable(path, "its interpreter " + interpreter + " is missing");
  }
  libraries_->AddDirectory(DirectoryOf(*canonical));
  Want(*canonical, /*run=*/true, "interpreter of " + path);
  return OkStatus();
}

Status Closure::TakeScript(const std::string& path, const elf::Image& image) {
  ODY_RETURN_IF_ERROR(TakeInterpreter(path, image.interpreter));
  const std::string command = image.interpreter.substr(image.interpreter.rfind('/') + 1) == "env"
                                  ? CommandOfEnv(image.argument)
                                  : "";
  if (command.empty()) return OkStatus();
  const bool is_path = command.find('/') != std::string::npos;
  const Result<std::string> canonical = is_path ? Resolve(command) : Search(command);
  if (!canonical.ok() || !compile::IsInSystemTree(*canonical)) {
    return Unusable(path, "its interpreter " + command + " is missing");
  }
  Want(*canonical, /*run=*/true, "interpreter of " + path);
  return OkStatus();
}

void Closure::TakeCompanions(const std::string& path) {
  for (const Companion& companion : CompanionsOf(path)) TakeCompanion(path, companion);
}

// Its absence, or a tree of it that is too large, takes nothing from the tool itself.
void Closure::TakeCompanion(const std::string& path, const Companion& companion) {
  const Result<std::string> canonical = Resolve(companion.path);
  if (!canonical.ok() || !compile::IsInSystemTree(*canonical)) return;
  const auto info = tree_->Look(*canonical);
  if (!info) return;
  if (info->directory) {
    const Status status = Walk(*canonical, companion.run);
    if (!status.ok()) return Note(*canonical + ": left out: " + status.message());
  }
  Want(*canonical, companion.run, companion.what + ", of " + path);
}

// Libraries and loaders of what lies in a directory. Links are not followed: what they lead to is
// there anyway, or is to be named itself. Interpreters of scripts are to be named too.
Status Closure::Walk(const std::string& directory, bool run) {
  walked_.insert(directory);
  watched_.insert(directory);
  std::vector<std::string> directories = {directory};
  while (!directories.empty()) {
    const std::string at = std::move(directories.back());
    directories.pop_back();
    ODY_RETURN_IF_ERROR(WalkOne(directory, at, run, &directories));
  }
  return OkStatus();
}

Status Closure::WalkOne(const std::string& top, const std::string& at, bool run,
                        std::vector<std::string>* below) {
  if (++directories_read_ > kMaxDirectories) {
    return Unusable(top, "more than " + std::to_string(kMaxDirectories) + " directories");
  }
  for (const std::string& name : tree_->Names(at)) {
    const std::string path = at + "/" + name;
    const auto info = tree_->Look(path);
    if (info && info->directory) below->push_back(path);
    const bool candidate =
        info && info->regular && (info->executable || name.find(".so") != std::string::npos);
    if (!candidate) continue;
    if (++files_read_ > kMaxFiles) {
      return Unusable(top, "more than " + std::to_string(kMaxFiles) + " programs");
    }
    if (TakeMember(path, run)) Watch(top, at);
  }
  return OkStatus();
}

bool Closure::TakeMember(const std::string& path, bool run) {
  const Result<elf::Image> image = tree_->ReadImage(path);
  if (!image.ok() || image->kind != Kind::kElf) return false;
  if (run && !image->interpreter.empty()) {
    (void)TakeInterpreter(path, image->interpreter);  // missing: then it does not run, as is
  }
  TakeElf({.path = path, .run = run, .inherited = {}}, *image);
  return true;
}

void Closure::Watch(const std::string& top, std::string at) {
  for (; at != top; at = DirectoryOf(at)) {
    if (!watched_.insert(at).second) return;
  }
}

std::vector<compile::Executable> Closure::Files() const {
  std::vector<compile::Executable> out;
  for (const auto& [path, file] : found_) {
    const bool covered =
        std::any_of(walked_.begin(), walked_.end(), [this, &file = file](const std::string& at) {
          const auto directory = found_.find(at);
          return directory != found_.end() && IsCoveredBy(file, directory->second);
        });
    if (!covered) out.push_back(file);
  }
  return out;
}

}  // namespace odyssey::executables
