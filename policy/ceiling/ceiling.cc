#include "policy/ceiling/ceiling.h"

#include <algorithm>

#include "common/base/sha256.h"
#include "policy/pattern/name_pattern.h"

namespace odyssey::ceiling {
namespace {

// As a file writes them; index = Choice.
constexpr const char* kChoiceNames[kChoices] = {
    "network egress",       "network full",    "executables all",        "executables workspace",
    "landlock best_effort", "protection none", "mode danger_full_access"};

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '$';
}

Ceiling MakeBuiltIn() {
  Grant grant;
  grant.users = {"*"};
  grant.write = {{"/", {}}};
  grant.env = {{"*", {}}};
  for (const Choice choice : {Choice::kNetworkEgress, Choice::kNetworkFull, Choice::kAllExecutables,
                              Choice::kLandlockBestEffort}) {
    grant.choices[static_cast<size_t>(choice)] = Origin{};
  }
  Ceiling ceiling;
  ceiling.grants = {std::move(grant)};
  return ceiling;
}

void Lower(const Bounds& next, Bounds* into) {
  for (size_t i = 0; i < next.size(); ++i) {
    Bound& bound = (*into)[i];
    const uint64_t value = Narrower(policy::kLimitKeys[i], next[i].value, bound.value);
    if (value != bound.value) bound = next[i];
  }
}

std::string At(const Origin& origin) { return "  (" + ToString(origin) + ")"; }

void DescribeGrant(const Grant& grant, std::vector<std::string>* lines) {
  std::string who = "users";
  for (const std::string& user : grant.users) who += " " + user;
  const auto list = [&](const char* what, const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
      // Such a pattern grants no variable that looks like a secret.
      const bool no_secrets = &entries == &grant.env && entry.text.find('*') != std::string::npos;
      lines->push_back(who + ": " + what + " " + entry.text +
                       (no_secrets ? " but no secrets" : "") + At(entry.origin));
    }
  };
  list("read", grant.read);
  list("review", grant.review);
  list("write", grant.write);
  list("env", grant.env);
  for (size_t i = 0; i < kChoices; ++i) {
    const std::optional<Origin>& origin = grant.choices[i];
    if (origin) lines->push_back(who + ": " + kChoiceNames[i] + At(*origin));
  }
}

void DescribeBounds(const char* what, const Bounds& bounds, std::vector<std::string>* lines) {
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (bounds[i].value == 0) continue;
    lines->push_back(std::string(what) + " " + std::string(policy::kLimitKeys[i].name) + " " +
                     std::to_string(bounds[i].value) + At(bounds[i].origin));
  }
}

void DescribeQuota(const QuotaRule& rule, std::vector<std::string>* lines) {
  std::string who = "users";
  for (const std::string& user : rule.users) who += " " + user;
  for (size_t i = 0; i < kCountedKinds; ++i) {
    const Bound& bound = rule.bounds[i];
    if (bound.value == 0) continue;
    lines->push_back(who + ": quota " + std::string(kCountedNames[i]) + " " +
                     std::to_string(bound.value) + At(bound.origin));
  }
}

void DescribeImages(const Images& images, std::vector<std::string>* lines) {
  if (images.quota.value != 0) {
    lines->push_back("images: quota bytes " + std::to_string(images.quota.value) +
                     At(images.quota.origin));
  }
  for (const SignedImages& rule : images.require) {
    lines->push_back("images: " + rule.name + " signed by " + rule.key + At(rule.origin));
  }
  if (!images.odek_default.text.empty()) {
    lines->push_back("images: odek default " + images.odek_default.text +
                     At(images.odek_default.origin));
  }
}

bool IsNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// How closely the rules name the user; 0: not at all.
int ClosenessOf(const std::vector<std::string>& rules, const Owner& owner) {
  int closest = 0;
  for (const std::string& rule : rules) {
    if (!NamesOwner(rule, owner) || (rule == "*" && owner.uid == 0)) continue;
    closest = std::max(closest, rule == "*" ? 1 : rule.rfind("group:", 0) == 0 ? 2 : 3);
  }
  return closest;
}

// Names of variables that hold secrets, or lead to them, as common programs call them.
constexpr std::string_view kSecretNames[] = {"DATABASE_URL", "DOCKER_AUTH_CONFIG", "KUBECONFIG",
                                             "NETRC"};
constexpr std::string_view kSecretEndings[] = {"TOKEN",      "SECRET",      "SECRETS",   "PASSWORD",
                                               "PASSWD",     "PASSPHRASE",  "APIKEY",    "APIKEYS",
                                               "CREDENTIAL", "CREDENTIALS", "PASSWORDS", "COOKIE"};
// PWD alone is a directory.
constexpr std::string_view kSecretBesideOthers[] = {"KEY", "KEYS", "PASS", "PAT",
                                                    "PWD", "AUTH", "DSN"};

template <size_t kCount>
bool Among(std::string_view word, const std::string_view (&words)[kCount]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

}  // namespace

std::string ToString(const Origin& origin) {
  if (origin.file.empty()) return "the built-in ceiling";
  return origin.file + ":" + std::to_string(origin.line);
}

Status CheckUserRule(const std::string& text) {
  constexpr std::string_view kGroup = "group:";
  const bool group = text.rfind(kGroup, 0) == 0;
  const std::string name = group ? text.substr(kGroup.size()) : text;
  const bool good = !name.empty() && std::all_of(name.begin(), name.end(), IsNameCharacter);
  if (good || text == "*") return OkStatus();
  return InvalidArgument("must be `*`, a user's name or uid, or `group:` and a name or gid");
}

bool NamesOwner(const std::string& rule, const Owner& owner) {
  constexpr std::string_view kGroup = "group:";
  if (rule == "*") return true;
  if (rule.rfind(kGroup, 0) != 0) {
    return IsNumber(rule) ? rule == std::to_string(owner.uid) : rule == owner.name;
  }
  const std::string group = rule.substr(kGroup.size());
  if (!IsNumber(group)) {
    return std::find(owner.groups.begin(), owner.groups.end(), group) != owner.groups.end();
  }
  return std::any_of(owner.gids.begin(), owner.gids.end(),
                     [&](uint32_t gid) { return std::to_string(gid) == group; });
}

Quota QuotaOf(const Ceiling& ceiling, const Owner& owner) {
  Quota out;
  std::array<int, kCountedKinds> closest{};
  for (const QuotaRule& rule : ceiling.quotas) {
    const int closeness = ClosenessOf(rule.users, owner);
    for (size_t i = 0; closeness > 0 && i < kCountedKinds; ++i) {
      const Bound& bound = rule.bounds[i];
      if (bound.value == 0 || closeness < closest[i]) continue;
      if (closeness == closest[i] && bound.value >= out[i].value) continue;
      closest[i] = closeness;
      out[i] = bound;
    }
  }
  return out;
}

const Ceiling& BuiltIn() {
  static const Ceiling ceiling = MakeBuiltIn();
  return ceiling;
}

void Merge(const Ceiling& next, Ceiling* into) {
  into->keeps_built_in = into->keeps_built_in && next.keeps_built_in;
  into->grants.insert(into->grants.end(), next.grants.begin(), next.grants.end());
  into->forbidden.insert(into->forbidden.end(), next.forbidden.begin(), next.forbidden.end());
  Lower(next.most, &into->most);
  Lower(next.unset, &into->unset);
  into->quotas.insert(into->quotas.end(), next.quotas.begin(), next.quotas.end());
  const Bound& quota = next.images.quota;
  Bound& lowest = into->images.quota;
  if (quota.value != 0 && (lowest.value == 0 || quota.value < lowest.value)) lowest = quota;
  into->images.require.insert(into->images.require.end(), next.images.require.begin(),
                              next.images.require.end());
  if (!next.images.odek_default.text.empty()) into->images.odek_default = next.images.odek_default;
}

uint64_t ImageQuotaOf(const Images& images) {
  return images.quota.value == 0 ? kDefaultImageQuota : images.quota.value;
}

std::vector<SignedImages> SignaturesOf(const Images& images, const std::string& name,
                                       const std::string& repository) {
  std::vector<SignedImages> out;
  for (const SignedImages& rule : images.require) {
    if (pattern::NameMatches(name, rule.name) || pattern::NameMatches(repository, rule.name)) {
      out.push_back(rule);
    }
  }
  return out;
}

bool LooksSecret(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  if (Among(upper, kSecretNames)) return true;
  if (upper.rfind("AWS_", 0) == 0 || upper.rfind("SSH_", 0) == 0) return true;
  const bool one_word = upper.find('_') == std::string::npos;
  for (size_t begin = 0; begin <= upper.size();) {
    const size_t end = std::min(upper.find('_', begin), upper.size());
    const std::string_view word = std::string_view(upper).substr(begin, end - begin);
    if (!one_word && Among(word, kSecretBesideOthers)) return true;
    for (const std::string_view ending : kSecretEndings) {
      if (word.ends_with(ending)) return true;
    }
    begin = end + 1;
  }
  return false;
}

std::vector<std::string> Describe(const Ceiling& ceiling) {
  std::vector<std::string> lines;
  for (const Grant& grant : ceiling.grants) DescribeGrant(grant, &lines);
  for (const Entry& entry : ceiling.forbidden) {
    lines.push_back("forbidden " + entry.text + At(entry.origin));
  }
  DescribeBounds("at most", ceiling.most, &lines);
  DescribeBounds("unset means", ceiling.unset, &lines);
  for (const QuotaRule& rule : ceiling.quotas) DescribeQuota(rule, &lines);
  DescribeImages(ceiling.images, &lines);
  return lines;
}

std::string Digest(const Ceiling& ceiling) {
  Sha256 hash;
  for (const std::string& line : Describe(ceiling)) hash.Update(line + "\n");
  return hash.Hex();
}

}  // namespace odyssey::ceiling
