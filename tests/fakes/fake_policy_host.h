#ifndef ODYSSEY_TESTS_FAKES_FAKE_POLICY_HOST_H_
#define ODYSSEY_TESTS_FAKES_FAKE_POLICY_HOST_H_

// A host for readers of policies, as data, and what reading on it gives, as text.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "policy/dialect/policy_reader.h"

namespace odyssey::fakes {

struct FakePolicyHost {
  std::string cwd = "/home/u/project";
  std::string home = "/home/u";
  std::set<std::string> granted_env;
  bool judges_secrets = false;
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> odek_flags;
  std::map<std::string, std::string> files;  // to read
  std::map<std::string, std::string> links;  // path → where it ends; what is below goes along
  std::set<std::string> planted;             // of these links, those that a cell could have made
  std::set<std::string> missing;             // all other paths exist

  dialect::PathFacts Look(const std::string& path) const {
    dialect::PathFacts facts = {missing.count(path) == 0, links.count(path) != 0, path};
    for (const auto& [link, end] : links) {
      const bool below = path.compare(0, link.size() + 1, link + "/") == 0;
      if (path != link && !below) continue;
      facts.resolved = end + path.substr(link.size());
      if (planted.count(link) != 0) facts.planted_link = link;
    }
    return facts;
  }

  dialect::PolicyContext Context() const {
    dialect::PolicyContext context;
    context.client_cwd = cwd;
    context.home = home;
    context.odek_flags = odek_flags;
    context.granted_env = granted_env;
    context.judges_secrets = judges_secrets;
    context.environment = [this](const std::string& name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      if (found == environment.end()) return std::nullopt;
      return found->second;
    };
    context.look = [this](const std::string& path) { return Look(path); };
    context.read = [this](const std::string& path) -> Result<std::string> {
      const auto found = files.find(path);
      if (found == files.end()) return NotFound("open " + path + ": no such file");
      return found->second;
    };
    return context;
  }
};

// Problems and warnings are text, one a line.
struct PolicyReading {
  std::optional<dialect::Policy> policy;
  std::string problems;
  std::string warnings;
};

inline std::string Lines(const dialect::Problems& problems) {
  std::string out;
  for (const dialect::Problem& problem : problems) {
    out += (out.empty() ? "" : "\n") + dialect::ToString(problem);
  }
  return out;
}

inline PolicyReading ReadPolicyOn(const FakePolicyHost& host, std::string_view text,
                                  const std::string& path) {
  PolicyReading reading;
  dialect::Problems problems;
  reading.policy = dialect::ReadPolicy(text, path, host.Context(), &problems);
  reading.problems = Lines(problems);
  if (reading.policy) reading.warnings = Lines(reading.policy->warnings);
  return reading;
}

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_FAKE_POLICY_HOST_H_
