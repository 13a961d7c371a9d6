#include "supervisor/host_runner/grants.h"

#include <algorithm>

namespace odyssey::host_runner {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsSpace(char c) { return c == ' ' || c == '\t'; }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// A uid as it is printed: "01000" would be another word for uid 1000 than the one compared with.
bool IsUid(std::string_view word) {
  return word.size() <= 10 && word[0] != '0' && std::all_of(word.begin(), word.end(), IsDigit);
}

bool IsName(std::string_view word) {
  const auto good = [](char c) { return IsLetter(c) || IsDigit(c) || c == '.' || c == '-'; };
  return word.size() <= kMaxNameBytes && IsLetter(word[0]) &&
         std::all_of(word.begin(), word.end(), good);
}

Status BadLine(size_t number, const std::string& why) {
  return InvalidArgument("line " + std::to_string(number) + ": " + why);
}

}  // namespace

Result<std::vector<std::string>> ParseGrants(std::string_view text) {
  if (text.size() > kMaxGrantBytes) {
    return InvalidArgument("more than " + std::to_string(kMaxGrantBytes) + " bytes");
  }
  std::vector<std::string> grants;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view word = Trim(text.substr(0, std::min(text.find('#'), end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (word == "root" || word == "0") {
      return BadLine(number, "host uid 0 never runs a command, whatever is granted");
    }
    // Not the word itself: it may hold any bytes.
    if (!IsUid(word) && !IsName(word)) return BadLine(number, "give one user name or uid");
    if (grants.size() == kMaxGrants) {
      return BadLine(number, "at most " + std::to_string(kMaxGrants) + " users are allowed");
    }
    grants.emplace_back(word);
  }
  return grants;
}

bool Names(const std::vector<std::string>& grants, const HostUser& user) {
  return std::any_of(grants.begin(), grants.end(), [&](const std::string& word) {
    return word == user.name || word == std::to_string(user.uid);
  });
}

Status CheckUid(uid_t uid, const OwnUids& own) {
  if (uid == 0) return PermissionDenied("Host uid 0 never runs a command, whatever the flags");
  const bool ours = uid == own.rpc || (uid >= own.first_cell && uid <= own.last_cell) ||
                    std::find(own.clients.begin(), own.clients.end(), uid) != own.clients.end();
  if (!ours) return OkStatus();
  return PermissionDenied("uid " + std::to_string(uid) +
                          " is Odyssey's own, or may connect to the supervisor: such a user never "
                          "gets danger_full_access");
}

}  // namespace odyssey::host_runner
