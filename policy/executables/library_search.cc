#include "policy/executables/library_search.h"

#include <algorithm>
#include <sstream>

namespace odyssey::executables {
namespace {

constexpr char kConfiguration[] = "/etc/ld.so.conf";
constexpr int kMaxIncludeDepth = 4;
constexpr size_t kMaxDirectories = 128;
constexpr const char* kStandard[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
// Variants of a library for newer processors; the loader prefers them.
constexpr const char* kVariants[] = {"/glibc-hwcaps/x86-64-v4", "/glibc-hwcaps/x86-64-v3",
                                     "/glibc-hwcaps/x86-64-v2"};

void AddOnce(std::string value, std::vector<std::string>* to) {
  if (std::find(to->begin(), to->end(), value) == to->end()) to->push_back(std::move(value));
}

// "*.conf" and the like; one star.
bool Matches(const std::string& name, const std::string& pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string::npos) return name == pattern;
  const std::string head = pattern.substr(0, star);
  const std::string tail = pattern.substr(star + 1);
  return name.size() >= head.size() + tail.size() && name.compare(0, head.size(), head) == 0 &&
         name.compare(name.size() - tail.size(), tail.size(), tail) == 0;
}

void ReplaceAll(std::string* text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size()) {
    text->replace(at, from.size(), to);
  }
}

}  // namespace

LibrarySearch::LibrarySearch(const HostTree* tree) : tree_(tree) {
  ReadConfiguration(kConfiguration, 0);
  for (const char* directory : kStandard) AddDirectory(directory);
}

void LibrarySearch::AddDirectory(const std::string& directory) {
  const Result<std::string> canonical = tree_->Canonical(directory);
  if (!canonical.ok() || directories_.size() >= kMaxDirectories) return;
  for (const char* variant : kVariants) {
    const std::string path = *canonical + variant;
    if (tree_->Look(path)) AddOnce(path, &directories_);
  }
  AddOnce(*canonical, &directories_);
}

void LibrarySearch::ReadConfiguration(const std::string& file, int depth) {
  AddOnce(file, &files_);
  const Result<std::string> canonical = tree_->Canonical(file);
  if (!canonical.ok() || depth > kMaxIncludeDepth) return;
  AddOnce(*canonical, &files_);
  std::istringstream lines(tree_->ReadText(*canonical));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    if (word == "include") {
      while (words >> word) Include(word, depth);
    } else if (word[0] == '/') {
      AddDirectory(word);
    }
  }
}

void LibrarySearch::Include(const std::string& pattern, int depth) {
  const std::string path = pattern[0] == '/' ? pattern : "/etc/" + pattern;
  const std::string directory = DirectoryOf(path);
  AddOnce(directory, &files_);
  for (const std::string& name : tree_->Names(directory)) {
    if (Matches(name, path.substr(directory.size() + 1))) {
      ReadConfiguration(directory + "/" + name, depth + 1);
    }
  }
}

std::vector<std::string> LibrarySearch::Find(const std::string& name,
                                             const std::vector<std::string>& own) const {
  std::vector<std::string> found;
  const auto look = [&](const std::string& path) {
    const Result<std::string> canonical = tree_->Canonical(path);
    if (!canonical.ok()) return;
    const auto info = tree_->Look(*canonical);
    if (info && info->regular) AddOnce(*canonical, &found);
  };
  if (name.find('/') != std::string::npos) {
    if (name[0] == '/') look(name);
    return found;
  }
  for (const std::string& directory : own) {
    for (const char* variant : kVariants) look(directory + variant + "/" + name);
    look(directory + "/" + name);
  }
  for (const std::string& directory : directories_) look(directory + "/" + name);
  return found;
}

std::vector<std::string> LibrarySearch::Consulted() const {
  std::vector<std::string> all = files_;
  all.insert(all.end(), directories_.begin(), directories_.end());
  return all;
}

std::vector<std::string> ExpandOrigin(const std::vector<std::string>& directories,
                                      const std::string& origin) {
  std::vector<std::string> out;
  for (std::string directory : directories) {
    ReplaceAll(&directory, "${ORIGIN}", origin);
    ReplaceAll(&directory, "$ORIGIN", origin);
    if (directory[0] == '/' && directory.find('$') == std::string::npos) out.push_back(directory);
  }
  return out;
}

}  // namespace odyssey::executables
