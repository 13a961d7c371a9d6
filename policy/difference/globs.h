#ifndef ODYSSEY_POLICY_DIFFERENCE_GLOBS_H_
#define ODYSSEY_POLICY_DIFFERENCE_GLOBS_H_

// Whether everything that one pattern of an OpenShell policy matches, another matches too. All
// answer false where they cannot tell. Pure.

#include <string>

namespace odyssey::difference {

// Of paths, of requests and of programs: `*` within a segment, `**` any segments; "" is all.
bool PathCovers(const std::string& outer, const std::string& inner);

// Of hosts: `*` one label, `**` at the beginning one or more. "" is covered by itself.
bool HostCovers(const std::string& outer, const std::string& inner);

// Of one text without separators, with `*`; "" is any.
bool TextCovers(const std::string& outer, const std::string& inner);

}  // namespace odyssey::difference

#endif  // ODYSSEY_POLICY_DIFFERENCE_GLOBS_H_
