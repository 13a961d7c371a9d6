#ifndef ODYSSEY_CTL_DOCTOR_PROBE_RUN_H_
#define ODYSSEY_CTL_DOCTOR_PROBE_RUN_H_

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "ctl/base/status_line.h"
#include "ctl/doctor/probe_canaries.h"
#include "ctl/doctor/probe_cells.h"
#include "ctl/doctor/probe_exec.h"
#include "ctl/doctor/probe_report.h"

namespace odyssey::ctl {

struct ProbeSite {
  ProbeCalls calls;
  ProbeCanaries* canaries;
  std::string directory;                // of the canaries
  std::vector<std::string> host_words;  // probe_host_words.h, and the daemons' socket= and own=
  std::set<std::string> weaknesses;     // of a supervisor without root, by name
  std::string image;                    // the cells' root; "": the host's programs
  // After which a process that is still there, though its cell is gone, stays. The kernel takes a
  // small part of it on a slow machine that has other work.
  std::chrono::milliseconds gone{30'000};
};

// Runs odyssey-probe in each kind of cell, and looks from the host at what it left. UNAVAILABLE if
// the supervisor does not make a cell at all.
// `line` shows how far it is.
Status RunProbes(const ProbeSite& site, StatusLine* line, ProbeReport* report);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DOCTOR_PROBE_RUN_H_
