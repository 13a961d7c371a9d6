#include "ctl/base/image_name.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kShown = 40;

}  // namespace

Status CheckImageName(const std::string& name) {
  if (name.size() <= kMaxImageName) return OkStatus();
  return InvalidArgument("\"" + name.substr(0, kShown) + "…\": " + std::to_string(name.size()) +
                         " bytes; at most " + std::to_string(kMaxImageName) + " are allowed");
}

}  // namespace odyssey::ctl
