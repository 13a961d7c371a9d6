#ifndef ODYSSEY_POLICY_DIALECT_ODEK_H_
#define ODYSSEY_POLICY_DIALECT_ODEK_H_

// odek's configuration: what its `sandbox*` keys say, in layers that override each other, and what
// a cell makes of them.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/dialect/policy.h"
#include "policy/dialect/schema.h"
#include "policy/model/policy_keys.h"

namespace odyssey::dialect::odek {

// The user's own file, the project's (which may not weaken it), the environment, and flags.
enum class Origin { kUser, kProject, kEnvironment, kFlags };

struct Flag {
  bool value = false;
  Place place;
};

struct Word {
  std::string value;
  Place place;
};

// Words of its own are not empty: an empty text counts as not there.
struct Config {
  std::optional<Flag> sandbox;
  std::optional<Flag> readonly;
  std::optional<Word> image;
  std::optional<Word> network;
  std::array<std::optional<Word>, policy::kLimitCount> limits;  // by row of policy::kLimitKeys
  std::optional<Word> user;
  std::optional<std::map<std::string, Word>> env;
  std::optional<std::vector<Word>> volumes;
  std::vector<std::string> others;  // top-level keys of other subjects
};

Config ReadConfig(const Node& document, const Source& source);

// ODEK_SANDBOX and ODEK_SANDBOX_*; env and volumes come from files only. `read` is given the names
// of those that are there.
Config ReadEnvironment(const PolicyContext& context, const Source& source,
                       std::vector<std::string>* read);

// PolicyContext::odek_flags, which outrank the rest.
Config ReadFlags(const PolicyContext& context, const Source& source);

// `source`, for problems of a value that was said elsewhere.
Source At(const Source& source, const Place& place);

// `upper` over `lower`, value by value; env and volumes each as a whole. What a project says to
// weaken is left out, with a warning.
Config Merge(const Config& lower, const Config& upper, Origin origin, const Source& source);

// Sizes, numbers and names of one layer, also of what a layer above it replaces.
void CheckValues(const Config& layer, const Source& source);

// Of what passed.
void AddRequest(const Config& config, const Source& source, const PolicyContext& context,
                Policy* out);

}  // namespace odyssey::dialect::odek

#endif  // ODYSSEY_POLICY_DIALECT_ODEK_H_
