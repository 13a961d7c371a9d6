#include "ctl/file/copy_status.h"

#include <algorithm>

#include "ctl/base/units.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kMostName = 50;  // bytes: a narrow terminal shows the end of a long name

}  // namespace

CopyProgress ShowCopies(StatusLine* line) {
  return [line, all = uint64_t{0}](const std::string& name, size_t bytes) mutable {
    all += bytes;
    const std::string end = name.substr(name.size() - std::min(name.size(), kMostName));
    line->Show(FormatSize(all) + "  " + end);
  };
}

}  // namespace odyssey::ctl
