#ifndef ODYSSEY_CTL_IMAGE_BUILD_BUILD_FILES_H_
#define ODYSSEY_CTL_IMAGE_BUILD_BUILD_FILES_H_

#include <string>

#include "common/base/status.h"
#include "ctl/file/named_place.h"
#include "ctl/image_build/prepared_build.h"

namespace odyssey::ctl {

// A Dockerfile, the directory of its context, and the .dockerignore: FILE.dockerignore beside the
// Dockerfile, or the directory's own. `file`: "": the one in the directory. `links`: that lead to
// the Dockerfile. Errors name the path.
Result<BuildFiles> ReadBuildFiles(const std::string& file, const std::string& directory,
                                  Links links, NamedPlaces* places);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_BUILD_FILES_H_
