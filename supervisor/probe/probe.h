#ifndef ODYSSEY_SUPERVISOR_PROBE_PROBE_H_
#define ODYSSEY_SUPERVISOR_PROBE_PROBE_H_

// A probe is one attempt, made for real with system calls from where an agent's command runs, and a
// verdict on how it ended. It does no lasting harm where it succeeds: what it opens it closes, what
// it makes it removes, and what it changes is a canary that the host laid out for it.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/probe/targets.h"

namespace odyssey::probe {

enum class Verdict : char {
  kNone,           // it ended without one
  kContained,      // what must not succeed did not
  kEscaped,        // it did, or got further than it should
  kWorks,          // what must succeed did
  kBroken,         // it did not; or a probe that gave no answer
  kNotApplicable,  // the policy allows it, or this kernel has no such thing
};

// As reports spell it.
std::string_view VerdictName(Verdict verdict);

struct Finding {
  Verdict verdict = Verdict::kNone;
  std::string detail;
};

inline Finding Contained(std::string detail) { return {Verdict::kContained, std::move(detail)}; }
inline Finding Escaped(std::string detail) { return {Verdict::kEscaped, std::move(detail)}; }
inline Finding Works(std::string detail = "") { return {Verdict::kWorks, std::move(detail)}; }
inline Finding Broken(std::string detail) { return {Verdict::kBroken, std::move(detail)}; }
inline Finding NotApplicable(std::string why) { return {Verdict::kNotApplicable, std::move(why)}; }

using Attempt = std::function<Finding(const Targets&)>;

struct Probe {
  std::string id;     // "class.what"
  std::string safe;   // the safe outcome; of a functional probe, what has to work
  std::string layer;  // what has to stop it
  Attempt attempt;

  // The part of the id before its dot.
  std::string Class() const { return id.substr(0, id.find('.')); }
  // Functional: it has to work, or something is broken.
  bool IsFunctional() const { return Class() == "works"; }
};

using Probes = std::vector<Probe>;

}  // namespace odyssey::probe

#endif  // ODYSSEY_SUPERVISOR_PROBE_PROBE_H_
