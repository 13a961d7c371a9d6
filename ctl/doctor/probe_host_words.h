#ifndef ODYSSEY_CTL_DOCTOR_PROBE_HOST_WORDS_H_
#define ODYSSEY_CTL_DOCTOR_PROBE_HOST_WORDS_H_

#include <string>
#include <vector>

namespace odyssey::ctl {

// What odyssey-probe must know of this host, to recognise it: its name, namespaces and addresses
// (supervisor/probe/targets.h).
std::vector<std::string> ProbeHostWords();

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DOCTOR_PROBE_HOST_WORDS_H_
