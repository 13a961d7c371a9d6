#ifndef ODYSSEY_CTL_BUNDLE_NAMED_BUNDLE_H_
#define ODYSSEY_CTL_BUNDLE_NAMED_BUNDLE_H_

#include <string>

#include "common/base/status.h"

namespace odyssey::ctl {

// One of the two.
struct NamedBundle {
  std::string directory;  // a path that is there, or one by its form
  std::string reference;
};

// What a person named: a path that exists is taken before a reference. INVALID_ARGUMENT: an
// archive, or neither.
Result<NamedBundle> LookAtName(const std::string& named);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BUNDLE_NAMED_BUNDLE_H_
