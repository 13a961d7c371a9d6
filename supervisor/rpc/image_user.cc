#include "supervisor/rpc/image_user.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "policy/plan/plan.h"

namespace odyssey::supervisor {
namespace {

constexpr size_t kMaxName = 256;

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Of a cell's range; nothing for any other text.
std::optional<uint32_t> IdOf(std::string_view text) {
  uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool good = IsNumber(text) && error == std::errc() && end == text.data() + text.size();
  return good && id < plan::kRangeIds ? std::optional(id) : std::nullopt;
}

std::vector<std::string_view> Split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(by);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// A name, a password and numbers: a line of passwd (uid, gid) or of group (gid).
struct Account {
  std::string_view name;
  uint32_t id = 0;
  uint32_t group = 0;
};

std::vector<Account> AccountsOf(std::string_view file, bool users) {
  std::vector<Account> accounts;
  for (const std::string_view line : Split(file, '\n')) {
    const std::vector<std::string_view> fields = Split(line, ':');
    if (fields.size() < (users ? 4U : 3U) || fields[0].empty()) continue;
    const auto id = IdOf(fields[2]), group = users ? IdOf(fields[3]) : 0;
    if (id && group) accounts.push_back({fields[0], *id, *group});
  }
  return accounts;
}

std::string Shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMaxName)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out;
}

std::string NamesOf(const std::vector<Account>& accounts) {
  constexpr size_t kMost = 16;
  std::string names;
  for (size_t i = 0; i < std::min(accounts.size(), kMost); ++i) {
    names += (i == 0 ? "" : ", ") + Shown(accounts[i].name);
  }
  return names + (accounts.size() > kMost ? ", …" : "");
}

Status Unknown(std::string_view name, const char* what, const char* file,
               const std::vector<Account>& accounts) {
  const std::string there = accounts.empty() ? std::string("has no ") + file
                                             : std::string("has no such ") + what + " in " + file +
                                                   "; there are: " + NamesOf(accounts);
  return InvalidArgument(Shown(name) + ": the image " + there);
}

Status OutOfRange(std::string_view number) {
  return InvalidArgument(Shown(number) + ": a number from 0 to " +
                         std::to_string(plan::kRangeIds - 1) + " is allowed");
}

const Account* FindName(const std::vector<Account>& accounts, std::string_view name) {
  const auto found = std::find_if(accounts.begin(), accounts.end(),
                                  [&](const Account& each) { return each.name == name; });
  return found == accounts.end() ? nullptr : &*found;
}

}  // namespace

Result<ImageUser> ResolveImageUser(std::string_view text, std::string_view passwd,
                                   std::string_view group) {
  ImageUser out;
  if (text.empty()) return out;
  const size_t colon = text.find(':');
  const std::string_view user = text.substr(0, colon);
  if (user.empty() || (colon != std::string_view::npos && colon + 1 == text.size())) {
    return InvalidArgument(Shown(text) + ": give USER or USER:GROUP");
  }
  const std::vector<Account> users = AccountsOf(passwd, true);
  if (IsNumber(user)) {
    const auto id = IdOf(user);
    if (!id) return OutOfRange(user);
    out.uid = *id;
    const auto known = std::find_if(users.begin(), users.end(),
                                    [&](const Account& each) { return each.id == *id; });
    out.gid = known == users.end() ? 0 : known->group;
  } else {
    const Account* const known = FindName(users, user);
    if (known == nullptr) return Unknown(user, "user", "/etc/passwd", users);
    out = {known->id, known->group};
  }
  if (colon == std::string_view::npos) return out;
  const std::string_view name = text.substr(colon + 1);
  const std::vector<Account> groups = AccountsOf(group, false);
  if (IsNumber(name)) {
    const auto id = IdOf(name);
    if (!id) return OutOfRange(name);
    out.gid = *id;
  } else {
    const Account* const known = FindName(groups, name);
    if (known == nullptr) return Unknown(name, "group", "/etc/group", groups);
    out.gid = known->id;
  }
  return out;
}

}  // namespace odyssey::supervisor
