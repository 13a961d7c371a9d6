#ifndef ODYSSEY_POLICY_CEILING_CEILING_H_
#define ODYSSEY_POLICY_CEILING_CEILING_H_

// What an operator lets the users of a host ask for: a ceiling above every request. What is not
// granted is refused. Values; nothing here reads a file or knows the host's users.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/model/policy_keys.h"
#include "policy/model/request.h"

namespace odyssey::ceiling {

// Where a rule is written.
struct Origin {
  std::string file;  // "" = built in
  int line = 0;      // 1-based
  friend bool operator==(const Origin&, const Origin&) = default;
};

// "FILE:LINE", or "the built-in ceiling".
std::string ToString(const Origin& origin);

// An entry of a list in a file.
struct Entry {
  std::string text;
  Origin origin;
  friend bool operator==(const Entry&, const Entry&) = default;
};

// "*", a user's name, a uid, or "group:" and a group's name or gid. A number is never a name.
// INVALID_ARGUMENT says what is wrong.
Status CheckUserRule(const std::string& text);

// The person for whom a request is made, as the host's user database has them; a name or home that
// it does not have is "".
struct Owner {
  uint32_t uid = 0;
  std::string name;
  std::string home;
  std::vector<uint32_t> gids;
  std::vector<std::string> groups;
  friend bool operator==(const Owner&, const Owner&) = default;
};

// Whether that rule names the user.
bool NamesOwner(const std::string& rule, const Owner& owner);

// What needs a grant; in the order of the names a file has for them.
enum class Choice {
  kNetworkEgress,
  kNetworkFull,
  kAllExecutables,  // and what kWorkspaceExecutables grants
  kWorkspaceExecutables,
  kLandlockBestEffort,
  kProtectionNone,
  kDangerFullAccess,
};
inline constexpr size_t kChoices = 7;

// Rights for users. Paths as path_pattern.h has them; `write` includes `review` (writing to a
// copy, from which a person commits), and that includes reading. Names of the
// environment with `*`; one that looks like a secret is granted only by its own name, without a
// `*`.
struct Grant {
  std::vector<std::string> users;
  std::vector<Entry> read;
  std::vector<Entry> review;
  std::vector<Entry> write;
  std::vector<Entry> env;
  std::array<std::optional<Origin>, kChoices> choices;
  friend bool operator==(const Grant&, const Grant&) = default;
};

struct Bound {
  uint64_t value = 0;  // in the units of policy.proto; 0 = none
  Origin origin;
  friend bool operator==(const Bound&, const Bound&) = default;
};
using Bounds = std::array<Bound, policy::kLimitCount>;  // by row of policy::kLimitKeys

// What agentd counts of a user's.
enum class Counted { kSessions, kCells, kTurns, kDiskBytes };
inline constexpr size_t kCountedKinds = 4;
// As a file names them, without a unit; index = Counted.
inline constexpr std::string_view kCountedNames[kCountedKinds] = {"sessions", "cells", "turns",
                                                                  "disk_bytes"};
using Quota = std::array<Bound, kCountedKinds>;  // by Counted

struct QuotaRule {
  std::vector<std::string> users;
  Quota bounds;
  friend bool operator==(const QuotaRule&, const QuotaRule&) = default;
};

// Images whose names match have to be signed.
struct SignedImages {
  std::string name;  // "NAME" or "NAME:TAG", with `*` for any characters
  std::string key;   // a file on the host: public keys in PEM, one of which has to be the signer's
  Origin origin;
  friend bool operator==(const SignedImages&, const SignedImages&) = default;
};

// Of the store of container images.
struct Images {
  Bound quota;  // bytes, of each user
  std::vector<SignedImages> require;
  // Of a policy in odek's format that names none and has no Dockerfile.odek: "NAME@sha256:HEX", or
  // the digest alone. "": none.
  Entry odek_default;
  friend bool operator==(const Images&, const Images&) = default;
};
inline constexpr uint64_t kDefaultImageQuota = uint64_t{20} << 30;

struct Ceiling {
  // Until a file says `builtin: false`, what BuiltIn() grants is granted beside what the files say.
  bool keeps_built_in = true;
  std::vector<Grant> grants;
  std::vector<Entry> forbidden;  // for every uid, whatever is granted; neither shown nor around it
  Bounds most;                   // of any request
  Bounds unset;                  // what an unset limit means, where it differs from kDefaultLimits
  std::vector<QuotaRule> quotas;
  Images images;
  friend bool operator==(const Ceiling&, const Ceiling&) = default;
};

// Where no operator has written one: every place that plan_check.h lets a cell show, every network
// and every mode, but no variable that looks like a secret, no danger_full_access, no `protection:
// none`; no bound of limits.
const Ceiling& BuiltIn();

// Two files of one operator: grants and forbidden places add up, of two limits the smaller holds,
// of two default images the latter.
void Merge(const Ceiling& next, Ceiling* into);

// What bounds the user, each by the rule that names it most closely: by name or uid before a group
// of its, and that before `*`, which does not mean root. Of equally close ones the smallest.
Quota QuotaOf(const Ceiling& ceiling, const Owner& owner);

// What each user may have in the image store, in bytes.
uint64_t ImageQuotaOf(const Images& images);

// The rules that an image has to satisfy, all of them, to have this name: "NAME:TAG", whose NAME is
// `repository`; both "" of an image without a name.
std::vector<SignedImages> SignaturesOf(const Images& images, const std::string& name,
                                       const std::string& repository);

// By the words that underscores make of it, whatever their case: AWS_* and SSH_*; a word that ends
// like TOKEN or PASSWORD; KEY, PAT, PWD and the like beside another word; a few whole names. Says
// rather too much than too little: a grant can name one.
bool LooksSecret(std::string_view name);

// One rule a line, with where it is written.
std::vector<std::string> Describe(const Ceiling& ceiling);

// sha256 hex over Describe.
std::string Digest(const Ceiling& ceiling);

}  // namespace odyssey::ceiling

#endif  // ODYSSEY_POLICY_CEILING_CEILING_H_
