#ifndef ODYSSEY_CTL_DOCTOR_PROBE_REPORT_H_
#define ODYSSEY_CTL_DOCTOR_PROBE_REPORT_H_

// What `doctor --probe` found, and how it is told. Pure.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/base/console.h"

namespace odyssey::ctl {

enum class ProbeVerdict {
  kContained,      // what must not succeed did not
  kEscaped,        // it did, or got further than it should
  kWorks,          // what must succeed did
  kBroken,         // it did not, or there was no answer
  kNotApplicable,  // the policy allows it, or this kernel has no such thing
  kWeaker,         // it succeeded, and the supervisor says that it does not stop it without root
};

// "contained", "ESCAPED", "works", "BROKEN", "not_applicable", "weaker".
std::string_view ProbeVerdictName(ProbeVerdict verdict);

struct ProbeResult {
  std::string cell;  // name of the cell that it was tried in
  std::string id;    // "class.what"
  ProbeVerdict verdict = ProbeVerdict::kBroken;
  std::string detail;
  std::string safe;      // the safe outcome
  std::string layer;     // what has to stop it
  std::string weakness;  // of kWeaker: its name in the list of `status`

  std::string Class() const { return id.substr(0, id.find('.')); }
  bool IsFailure() const {
    return verdict == ProbeVerdict::kEscaped || verdict == ProbeVerdict::kBroken;
  }
};

// A cell that probes ran in, or why there was none.
struct ProbedCell {
  std::string name;
  std::string not_offered;  // "" if it was made
};

struct ProbeReport {
  std::string supervisor;  // which one was asked, for people
  std::vector<ProbedCell> cells;
  std::vector<ProbeResult> results;

  // True only if nothing escaped, nothing broke, and there was something to try.
  bool Good() const;
};

// The output of odyssey-probe: a line of JSON a probe, then how many there were. What is not as it
// should be, a missing end above all, becomes a result that is BROKEN.
void AppendProbeOutput(const std::string& cell, std::string_view output,
                       std::vector<ProbeResult>* results);

// What escaped because of one of these weaknesses (policy/compile/weakness.h, by name) is weaker.
void ApplyWeaknesses(const std::set<std::string>& weaknesses, ProbeReport* report);

// A line for each class, every failure with what happened and what should have stopped it. With
// `all`, every probe.
std::string FormatProbeReport(const ProbeReport& report, bool all, bool color);

Json ProbeReportToJson(const ProbeReport& report);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DOCTOR_PROBE_REPORT_H_
