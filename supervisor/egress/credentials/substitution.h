#ifndef ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_SUBSTITUTION_H_
#define ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_SUBSTITUTION_H_

// One request of a cell: secrets are put where it has their placeholders, for a server that may see
// them. Any other placeholder is a refusal, and then nothing of the request may be sent.
//
// A placeholder is the text that the cell has in place of a secret, or OpenShell's
// `openshell:resolve:env:KEY`, also with a revision (`v1_`) or a handle (`s` and 64 hexadecimal
// digits, `_`) before KEY, or `provider-OPENSHELL-RESOLVE-ENV-KEY`.

#include <string>
#include <string_view>
#include <vector>

#include "supervisor/egress/credentials/keyring.h"
#include "supervisor/egress/credentials/replacer.h"
#include "supervisor/egress/http/field.h"

namespace odyssey::egress::credentials {

struct Refusal {
  std::string code;  // "credential_endpoint_mismatch", "credential_unknown", "credential_in_body"
  std::string reason;
};

inline constexpr size_t kMaxBodyBytes = 256 * 1024;  // of one that secrets are put into

enum class BodyForm { kPlain, kJson, kForm };
// By Content-Type.
BodyForm BodyFormOf(const http::Fields& fields);

class Substitution final {
 public:
  // `keyring` is borrowed.
  Substitution(const Keyring* keyring, Place place);

  // false: the request is refused, as refusal() says. What was given is then undefined.
  // In the values of fields, within `Authorization: Basic` too.
  bool InFields(http::Fields* fields);
  // As they are sent: the path's segments, the query's names and values.
  bool InPath(std::string* wire);
  bool InQuery(std::string* query);
  // Where the endpoint says so: all of a body, or a text message.
  bool InBody(BodyForm form, std::string* body);

  const Refusal& refusal() const { return refusal_; }
  // That were put in, each once.
  const std::vector<const Credential*>& used() const { return used_; }
  // What of these must not come back: the texts as they were sent, and as the cell had them.
  const std::vector<Replacement>& sent() const { return sent_; }

 private:
  struct Found {
    size_t begin = std::string::npos, end = 0;
    const Credential* credential = nullptr;  // of its placeholder
    std::string key;                         // of OpenShell's form
  };
  Found Next(std::string_view text, size_t at, BodyForm form) const;
  // nullptr: refused.
  const Credential* Resolve(const Found& found);
  bool Replace(BodyForm form, std::string* text, bool* changed);
  bool InBasic(std::string* value);
  bool InPairs(std::string* text);

  const Keyring* const keyring_;
  const Place place_;
  const std::vector<const Credential*> bound_;
  Refusal refusal_;
  std::vector<const Credential*> used_;
  std::vector<Replacement> sent_;
};

// Of every placeholder of the cell, as it is, so that it is found in a body that none may be in.
std::vector<Replacement> PlaceholdersOf(const Keyring& keyring);
Refusal InBodyRefusal();

// Of the secrets that the server may see, so that none comes back.
std::vector<Replacement> SecretsOf(const std::vector<const Credential*>& credentials);

}  // namespace odyssey::egress::credentials

#endif  // ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_SUBSTITUTION_H_
