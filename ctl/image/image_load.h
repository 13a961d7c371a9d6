#ifndef ODYSSEY_CTL_IMAGE_IMAGE_LOAD_H_
#define ODYSSEY_CTL_IMAGE_IMAGE_LOAD_H_

#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/base/command.h"

namespace odyssey::ctl {

// One image that is loaded: which of a source, and what it is called in the store. The first name
// comes with its layers; none: it has its digest alone.
struct ChosenImage {
  size_t image = 0;
  std::vector<std::string> names;
  friend bool operator==(const ChosenImage&, const ChosenImage&) = default;
};

// By --name and --as, "" if not given. NOT_FOUND: none has the name; INVALID_ARGUMENT: --as is for
// one image. Messages list the names that there are. Pure.
Result<std::vector<ChosenImage>> ChooseImages(const std::vector<std::vector<std::string>>& there,
                                              const std::string& name, const std::string& as);

// `image load`. Returns the exit code; has reported.
int LoadImages(const Invocation& call);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_IMAGE_LOAD_H_
