#ifndef ODYSSEY_POLICY_COMPILE_IMAGE_ROOT_H_
#define ODYSSEY_POLICY_COMPILE_IMAGE_ROOT_H_

// The root directory of a cell that has a container image in place of the host's programs.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/compile/compile.h"
#include "policy/compile/found_image.h"

namespace odyssey::compile {

// What a request with an image may ask for, whatever the image is.
Status CheckImage(const policy::SandboxRequest& request, const Enforcement& enforcement);

// Appends the layers, the ids, the files of /etc that are the cell's and the rules of its programs.
// The image's own files stay what they are: its users, its shells, its certificates.
void AddImage(const policy::SandboxRequest& request, const FoundImage& image,
              const HostFacts& facts, Compiled* out);

// `base` with the image's variables in place of those of the same name; without those that name the
// user of other cells, and without the image's that are Odyssey's own.
std::vector<std::string> ImageEnvironment(const std::vector<std::string>& base,
                                          const FoundImage& image);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_IMAGE_ROOT_H_
