#ifndef ODYSSEY_CTL_IMAGE_BUILD_IMAGE_BUILDER_H_
#define ODYSSEY_CTL_IMAGE_BUILD_IMAGE_BUILDER_H_

// Builds what a Dockerfile says, instruction by instruction. Commands run in cells, with the image
// so far as their root; files come as layers that the client makes itself; the rest is
// configuration. Nothing of the Dockerfile is executed, and no link of an image followed, outside
// of a cell.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/image_build/build_context.h"
#include "ctl/image_build/build_plan.h"
#include "ctl/image_build/build_scope.h"
#include "ctl/image_build/build_store.h"
#include "image/dockerfile/dockerfile.h"

namespace odyssey::ctl {

struct BuildInputs {
  const dockerfile::Dockerfile* file = nullptr;
  std::string file_name;  // as messages name it
  const BuildContext* context = nullptr;
  const BuildScope* scope = nullptr;  // the global one
  const BuildPlan* plan = nullptr;
  std::map<std::string, StoredImage> images;  // of the plan, by their names
  std::vector<std::string> names;             // of the image that is built
};

// "[2/7] RUN make", before each step.
using StepReport = std::function<void(size_t step, size_t steps, const std::string& text)>;

// Returns the digest. What is made on the way is removed again, whatever happens. `signals`: a
// signalfd that ends the build with CANCELLED, or -1. Every other error is as AtLine has it.
// Caller must be single-threaded.
Result<std::string> BuildImage(const BuildInputs& inputs, BuildStore* store, int signals,
                               const StepReport& report);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_IMAGE_BUILDER_H_
