#include "image/layer/entry_path.h"

namespace odyssey::image {
namespace {

constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOwn = ".wh..wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr size_t kMaxName = 255;  // NAME_MAX

}  // namespace

Result<std::string> NormalPath(std::string_view path, const Bounds& bounds) {
  std::string out;
  uint32_t depth = 0;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (component.empty() || component == ".") continue;
    if (component == "..") return InvalidArgument("its path has \"..\"");
    if (component.size() > kMaxName) {
      return InvalidArgument("a name in its path has more than 255 bytes");
    }
    if (++depth > bounds.depth) {
      return InvalidArgument("its path has more than " + std::to_string(bounds.depth) + " names");
    }
    if (!out.empty()) out += '/';
    out += component;
  }
  if (out.size() > bounds.path_bytes) {
    return InvalidArgument("its path has more than " + std::to_string(bounds.path_bytes) +
                           " bytes");
  }
  return out;
}

std::string_view ParentOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view NameOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Result<MarkedName> ReadMark(std::string_view name) {
  if (!name.starts_with(kWhiteout)) return MarkedName{};
  if (name == kOpaque) return MarkedName{Mark::kOpaque, {}};
  if (name.starts_with(kOwn)) return MarkedName{Mark::kIgnored, {}};
  const std::string_view gone = name.substr(kWhiteout.size());
  if (gone.empty() || gone == "." || gone == "..") {
    return InvalidArgument("it is a whiteout of no name");
  }
  return MarkedName{Mark::kGone, gone};
}

std::string Quoted(std::string_view name) {
  constexpr size_t kMost = 200;
  std::string out = "entry \"";
  for (const char c : name.substr(0, kMost)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out + (name.size() > kMost ? "…\"" : "\"");
}

}  // namespace odyssey::image
