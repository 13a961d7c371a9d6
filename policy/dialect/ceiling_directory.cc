#include "policy/dialect/ceiling_directory.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <utility>

#include "policy/dialect/ceiling_file.h"

namespace odyssey::dialect {
namespace {

constexpr uid_t kNoUser = static_cast<uid_t>(-1);
constexpr size_t kLookupBytes = 64 * 1024;  // of a user's or a group's line
constexpr int kMaxGroups = 1024;

std::string ResolveHome(const char* home) {
  const std::unique_ptr<char, decltype(&free)> resolved(realpath(home, nullptr), free);
  return resolved != nullptr ? resolved.get() : home;
}

std::string NameOfGroup(gid_t gid) {
  std::vector<char> buffer(kLookupBytes);
  group entry{};
  group* found = nullptr;
  const bool known =
      getgrgid_r(gid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return known ? found->gr_name : "";
}

void FindGroups(const passwd& entry, ceiling::Owner* owner) {
  std::vector<gid_t> gids(kMaxGroups);
  int count = kMaxGroups;
  if (getgrouplist(entry.pw_name, entry.pw_gid, gids.data(), &count) < 0) count = kMaxGroups;
  for (int i = 0; i < count; ++i) {
    owner->gids.push_back(gids[static_cast<size_t>(i)]);
    std::string name = NameOfGroup(gids[static_cast<size_t>(i)]);
    if (!name.empty()) owner->groups.push_back(std::move(name));
  }
}

}  // namespace

Result<ceiling::Ceiling> ParseCeiling(const std::optional<OperatorFiles>& texts) {
  if (!texts) return ceiling::BuiltIn();
  ceiling::Ceiling out;
  Problems problems;
  for (const OperatorFile& file : *texts) {
    ceiling::Merge(ReadCeiling(file.file, file.text, &problems), &out);
  }
  if (problems.empty()) {
    // Last: what a file grants is said to be by that file.
    if (out.keeps_built_in) ceiling::Merge(ceiling::BuiltIn(), &out);
    return out;
  }
  const std::string more =
      problems.size() == 1 ? "" : " (and " + std::to_string(problems.size() - 1) + " more)";
  return InvalidArgument(ToString(problems.front()) + more);
}

Result<ceiling::Ceiling> LoadCeiling(const std::string& directory) {
  ODY_ASSIGN_OR_RETURN(const std::optional<OperatorFiles> texts, ReadOperatorFiles(directory));
  return ParseCeiling(texts);
}

Result<CeilingFiles::InForcePtr> CeilingFiles::Get() {
  auto texts = ReadOperatorFiles(directory_);
  const std::lock_guard lock(mutex_);
  if (!texts.ok()) {
    parsed_.reset();  // whatever is read next is parsed
    return texts.status();
  }
  if (parsed_ && texts_ == *texts) return *parsed_;
  texts_ = *std::move(texts);
  Result<ceiling::Ceiling> ceiling = ParseCeiling(texts_);
  if (!ceiling.ok()) return *(parsed_ = ceiling.status());
  const auto count = texts_ ? std::optional(texts_->size()) : std::nullopt;
  std::string digest = ceiling::Digest(*ceiling);
  parsed_ = std::make_shared<const InForce>(InForce{*std::move(ceiling), digest, count});
  return *parsed_;
}

ceiling::Owner OwnerOf(uid_t uid) {
  ceiling::Owner owner = {.uid = uid};
  std::vector<char> buffer(kLookupBytes);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return owner;
  }
  owner.name = found->pw_name;
  owner.home = ResolveHome(found->pw_dir);
  FindGroups(*found, &owner);
  return owner;
}

Result<ceiling::Owner> FindOwner(const std::string& option, const std::string& user) {
  uid_t uid = 0;
  const char* const end = user.data() + user.size();
  const auto [stop, error] = std::from_chars(user.data(), end, uid);
  if (error == std::errc() && stop == end && uid != kNoUser) return OwnerOf(uid);
  std::vector<char> buffer(kLookupBytes);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr) {
    return OwnerOf(found->pw_uid);
  }
  return NotFound(option + " " + user + ": no such user; give a name or a uid");
}

}  // namespace odyssey::dialect
