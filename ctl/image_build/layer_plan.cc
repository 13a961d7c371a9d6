#include "ctl/image_build/layer_plan.h"

#include <sys/stat.h>

#include <optional>
#include <tuple>

namespace odyssey::ctl {
namespace {

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

}  // namespace

Status LayerPlan::Need(const std::string& directory) {
  if (directory.empty() || !needed_.insert(directory).second) return OkStatus();
  const std::string parent = ParentOf(directory);
  ODY_RETURN_IF_ERROR(Need(parent));
  if (missing_.count(parent) != 0) {
    missing_.insert(directory);
    return OkStatus();
  }
  const std::string path = "/" + directory;
  ODY_ASSIGN_OR_RETURN(const std::optional<image::TarHeader> found, tree_->Look(path));
  if (!found) {
    missing_.insert(directory);
  } else if (S_ISDIR(found->type)) {
    kept_[directory] = *found;
  } else if (S_ISLNK(found->type)) {
    return InvalidArgument(path + ": is a link in the image, to " + found->link +
                           ", which a directory would hide; copy to where it leads");
  } else {
    return InvalidArgument(path + ": is no directory in the image");
  }
  return OkStatus();
}

Status LayerPlan::Add(const std::string& path, bool is_directory) {
  ODY_RETURN_IF_ERROR(Need(is_directory ? path : ParentOf(path)));
  if (is_directory) own_.insert(path);
  return OkStatus();
}

void LayerPlan::Complete(image::RepackRules* rules) const {
  for (const std::string& directory : needed_) {
    if (own_.count(directory) != 0) continue;
    image::TarHeader header{.path = directory, .type = S_IFDIR, .mode = 0755};
    if (const auto kept = kept_.find(directory); kept != kept_.end()) {
      header.mode = kept->second.mode;
      header.uid = kept->second.uid;
      header.gid = kept->second.gid;
    } else if (rules->owner) {
      std::tie(header.uid, header.gid) = *rules->owner;
    }
    rules->above.push_back(std::move(header));
  }
  rules->kept = kept_;
}

}  // namespace odyssey::ctl
