#ifndef ODYSSEY_CTL_IMAGE_BUILD_STAGE_BUILDER_H_
#define ODYSSEY_CTL_IMAGE_BUILD_STAGE_BUILDER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "ctl/image_build/build_context.h"
#include "ctl/image_build/build_scope.h"
#include "ctl/image_build/build_store.h"
#include "ctl/image_build/copy_step.h"
#include "ctl/image_build/image_parts.h"
#include "ctl/image_build/image_tree.h"
#include "ctl/image_build/made_images.h"
#include "image/dockerfile/dockerfile.h"
#include "image/repack/repack.h"

namespace odyssey::ctl {

// A stage so far: its parts, and the image in the store that has its layers.
struct StageState {
  ImageParts parts = ImageParts::Empty();
  std::string image;  // digest; "": there is no layer yet
};

// Executes the instructions of one stage.
class StageBuilder final {
 public:
  // All are borrowed.
  StageBuilder(BuildStore* store, MadeImages* made, const BuildContext* context, BuildScope scope,
               StageState state, int signals);

  // `from`: of COPY --from, the digest of the image, "" of a scratch without layers; null without.
  Status Execute(const dockerfile::Instruction& instruction, const std::string* from);

  const StageState& state() const { return state_; }

 private:
  Result<std::string> Expand(const std::string& word) const;
  Result<std::vector<std::string>> Words(const dockerfile::Instruction& instruction) const;
  std::string Directory() const;
  std::string Absolute(const std::string& path) const;
  std::vector<std::string> ShellWords(const std::string& command) const;

  Status Run(const dockerfile::Instruction& instruction);
  Status Copy(const dockerfile::Instruction& instruction, const std::string* from);
  Status WorkDirectory(const dockerfile::Instruction& instruction);
  Status Configure(const dockerfile::Instruction& instruction);
  Status Expose(const std::string& word);

  // Of the image; "" if it has none.
  Result<std::string> AccountFile(const char* path);
  Status ReadRules(const dockerfile::Instruction& instruction, image::RepackRules* rules);
  Status AddSources(const dockerfile::Instruction& instruction,
                    const std::vector<std::string>& sources, ImageTree* from, CopyStep* step);
  Status ImportLayer(int file, const std::string& history);

  BuildStore* const store_;
  MadeImages* const made_;
  const BuildContext* const context_;
  BuildScope scope_;
  StageState state_;
  const int signals_;
  std::unique_ptr<ImageTree> tree_;
  bool command_set_ = false;  // CMD, in this stage
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_STAGE_BUILDER_H_
