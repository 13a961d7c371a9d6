#ifndef ODYSSEY_CTL_IMAGE_BUILD_COPY_STEP_H_
#define ODYSSEY_CTL_IMAGE_BUILD_COPY_STEP_H_

// One COPY or ADD: files of the context, of other images and of here-documents, put together as a
// layer.

#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "ctl/image_build/build_context.h"
#include "ctl/image_build/build_store.h"
#include "ctl/image_build/image_tree.h"
#include "ctl/image_build/layer_plan.h"
#include "image/repack/repack.h"

namespace odyssey::ctl {

// kUnpack: archives are, as ADD has it.
enum class Archives { kCopy, kUnpack };

class CopyStep final {
 public:
  // `tree`: of the image that is copied to. All are borrowed.
  CopyStep(BuildStore* store, ImageTree* tree, const BuildContext* context, int signals)
      : store_(store), tree_(tree), context_(context), signals_(signals), plan_(tree) {}

  // First: an absolute path. `is_directory`: it is written so.
  Status SetDestination(const std::string& path, bool is_directory, size_t sources);

  // A path or pattern of the context.
  Status AddFromContext(const std::string& source, Archives archives);
  Status AddHeredoc(const std::string& name, const std::string& content);
  // A path or pattern of another image.
  Status AddFromImage(const std::string& source, ImageTree* from);

  // The layer, to an empty file.
  Status Write(image::RepackRules rules, int file);

 private:
  struct Item {
    image::TarHeader header;
    const ContextFile* file = nullptr;
    std::string content;
  };

  // Where a file of this name comes to, relative to the root.
  Result<std::string> PlaceOf(const std::string& name) const;
  // The destination, of a source that is a directory.
  Result<std::string> DirectoryPlace() const;
  Status Add(Item item);
  Status AddNamed(const std::string& path, const std::string& name, Archives archives);
  // Whether it was one.
  Result<bool> AddArchive(const ContextFile& file);
  Status AddPart(image::TarPart part, const std::vector<image::TarHeader>& headers);
  // The tar of an image's files. The file stays open.
  Result<int> Fetch(const std::string& image, const std::string& path);
  Result<std::vector<image::TarHeader>> List(int file, image::TarPacking packing) const;
  Status AddMatches(const std::string& pattern, const std::string& directory, ImageTree* from);
  Status WriteItems(const image::RepackRules& rules, image::TarWriter* out) const;

  BuildStore* const store_;
  ImageTree* const tree_;
  const BuildContext* const context_;
  const int signals_;

  ImageTree::Found destination_;
  bool into_directory_ = false;
  LayerPlan plan_;
  std::map<std::string, Item> items_;
  std::vector<image::TarPart> parts_;
  std::vector<UniqueFd> files_;  // of the parts
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_COPY_STEP_H_
