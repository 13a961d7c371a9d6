#include "ctl/image_build/image_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <utility>
#include <vector>

#include "common/os/file.h"
#include "ctl/image_build/confined.h"
#include "ctl/image_build/temporary_file.h"
#include "image/repack/repack.h"

namespace odyssey::ctl {
namespace {

constexpr int kMaxLinks = 40;
// In which the first entry's header is, whatever pax puts before it.
constexpr size_t kHeaderBytes = 64 * 1024;
constexpr size_t kTarOverhead = 64 * 1024;

void PushFront(std::string_view path, std::deque<std::string>* parts) {
  std::vector<std::string> split;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (!part.empty() && part != ".") split.emplace_back(part);
  }
  parts->insert(parts->begin(), split.begin(), split.end());
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<std::optional<image::TarHeader>> ImageTree::Look(const std::string& path) {
  using Header = std::optional<image::TarHeader>;
  if (path == "/") return Header(image::TarHeader{.path = "", .type = S_IFDIR, .mode = 0755});
  if (image_.empty()) return Header();
  if (const auto found = known_.find(path); found != known_.end()) return found->second;
  ODY_ASSIGN_OR_RETURN(const UniqueFd file, MakeTemporaryFile());
  size_t bytes = 0;
  const Status read = store_->ReadFiles(image_, path, [&](std::string_view data) -> Result<bool> {
    ODY_RETURN_IF_ERROR(WriteAll(file.get(), data));
    bytes += data.size();
    return bytes < kHeaderBytes;
  });
  if (read.code() == Code::kNotFound) return known_[path] = Header();
  ODY_RETURN_IF_ERROR(read);
  ODY_ASSIGN_OR_RETURN(const std::string text,
                       RunConfined(
                           [&]() -> Result<std::string> {
                             const auto listed =
                                 image::ListTar(file.get(), image::TarPacking::kPlain, 1, {});
                             if (!listed.ok()) return listed.status();
                             return image::EncodeHeaders(*listed);
                           },
                           signals_));
  ODY_ASSIGN_OR_RETURN(std::vector<image::TarHeader> headers, image::DecodeHeaders(text));
  if (headers.empty()) return Internal(path + ": the store sent an empty tar");
  return known_[path] = std::move(headers.front());
}

Result<ImageTree::Found> ImageTree::Resolve(const std::string& path) {
  std::deque<std::string> left;
  PushFront(path, &left);
  Found found{"/", image::TarHeader{.path = "", .type = S_IFDIR, .mode = 0755}};
  for (int links = 0; !left.empty();) {
    const std::string part = std::move(left.front());
    left.pop_front();
    if (found.header && !S_ISDIR(found.header->type)) {
      return InvalidArgument(found.path + ": is no directory in the image");
    }
    if (part == "..") {
      found.path = ParentOf(found.path);
      ODY_ASSIGN_OR_RETURN(found.header, Look(found.path));
      continue;
    }
    const std::string next = (found.path == "/" ? "" : found.path) + "/" + part;
    std::optional<image::TarHeader> header;
    // Below what is not there is nothing.
    if (found.header) {
      ODY_ASSIGN_OR_RETURN(header, Look(next));
    }
    if (!header || !S_ISLNK(header->type)) {
      found = {next, std::move(header)};
      continue;
    }
    if (++links > kMaxLinks) return InvalidArgument(path + ": goes through too many links");
    if (header->link.starts_with('/')) {
      found = {"/", image::TarHeader{.path = "", .type = S_IFDIR, .mode = 0755}};
    }
    PushFront(header->link, &left);
  }
  return found;
}

Result<std::string> ImageTree::ReadContent(const std::string& path, size_t max_bytes) {
  // One question, unless there are links on the way.
  Found found{path, {}};
  ODY_ASSIGN_OR_RETURN(found.header, Look(path));
  if (!found.header || S_ISLNK(found.header->type)) {
    ODY_ASSIGN_OR_RETURN(found, Resolve(path));
  }
  if (!found.header || !S_ISREG(found.header->type)) {
    return NotFound(path + ": the image has no such file");
  }
  if (found.header->size > max_bytes) {
    return ResourceExhausted(path + ": has more than " + std::to_string(max_bytes) + " bytes");
  }
  ODY_ASSIGN_OR_RETURN(const UniqueFd file, MakeTemporaryFile());
  size_t bytes = 0;
  const Status read =
      store_->ReadFiles(image_, found.path, [&](std::string_view data) -> Result<bool> {
        ODY_RETURN_IF_ERROR(WriteAll(file.get(), data));
        bytes += data.size();
        return bytes < max_bytes + kTarOverhead;
      });
  ODY_RETURN_IF_ERROR(read);
  return RunConfined(
      [&]() -> Result<std::string> { return image::ReadOneFile(file.get(), max_bytes); }, signals_);
}

}  // namespace odyssey::ctl
