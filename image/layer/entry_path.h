#ifndef ODYSSEY_IMAGE_LAYER_ENTRY_PATH_H_
#define ODYSSEY_IMAGE_LAYER_ENTRY_PATH_H_

// Paths of a layer's tar, and what their names mean. Pure.

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "image/layer/layer.h"

namespace odyssey::image {

// "./usr//bin/" → "usr/bin"; the layer's root is "". INVALID_ARGUMENT: a component "..", or more
// than the bounds have.
Result<std::string> NormalPath(std::string_view path, const Bounds& bounds);

// "usr/bin" of "usr/bin/ls", "" of "usr".
std::string_view ParentOf(std::string_view path);
std::string_view NameOf(std::string_view path);

enum class Mark {
  kNone,
  kGone,     // ".wh.NAME": NAME of the layers below is gone
  kOpaque,   // ".wh..wh..opq": so is all of the directory around it
  kIgnored,  // ".wh..wh.…": what an older union file system kept for itself
};
struct MarkedName {
  Mark mark = Mark::kNone;
  std::string_view name;  // of kGone
};
// INVALID_ARGUMENT: a whiteout of nothing, of "." or of "..".
Result<MarkedName> ReadMark(std::string_view name);

// `entry "NAME"` for messages: a hostile name is cut, and has no control characters.
std::string Quoted(std::string_view name);

}  // namespace odyssey::image

#endif  // ODYSSEY_IMAGE_LAYER_ENTRY_PATH_H_
