#ifndef ODYSSEY_CTL_IMAGE_BUILD_BUILD_PLAN_H_
#define ODYSSEY_CTL_IMAGE_BUILD_BUILD_PLAN_H_

// Which stages of a Dockerfile are built, and of what. Pure.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/image_build/build_scope.h"
#include "image/dockerfile/dockerfile.h"

namespace odyssey::ctl {

// Of FROM and of COPY --from.
struct ImageSource {
  enum class Kind { kScratch, kStage, kImage };
  Kind kind = Kind::kScratch;
  size_t stage = 0;
  std::string image;  // as it is named
};

struct PlannedStage {
  size_t stage = 0;  // its index in the file
  ImageSource base;
  std::map<size_t, ImageSource> copied;  // by the index of the instruction
};

struct BuildPlan {
  std::vector<PlannedStage> stages;  // in order; the last is the target
  std::set<std::string> images;      // all that are named
  size_t steps = 0;                  // FROMs and instructions
};

// "FILE:LINE: TEXT: why".
Status AtLine(const std::string& file_name, int line, const std::string& text,
              const Status& status);

// `target`: a stage's name or number; "": the last. What the target does not need is left out.
// INVALID_ARGUMENT as AtLine has it, or names --target.
Result<BuildPlan> PlanBuild(const dockerfile::Dockerfile& file, const std::string& file_name,
                            const BuildScope& global, const std::string& target);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_BUILD_PLAN_H_
