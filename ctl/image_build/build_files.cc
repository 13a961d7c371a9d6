#include "ctl/image_build/build_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "common/os/file.h"
#include "common/os/regular_file.h"
#include "image/dockerfile/ignore_file.h"

namespace odyssey::ctl {
namespace {

constexpr char kIgnoreName[] = ".dockerignore";

// NOT_FOUND: there is none. A link is refused: it could lead out of the context.
Result<std::string> ReadIgnoreFile(int directory, const std::string& path) {
  const UniqueFd fd(openat(directory, kIgnoreName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) return NotFound(path + ": there is none");
  struct stat info {};
  if (!fd || fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "open " + path);
  if (!S_ISREG(info.st_mode)) return InvalidArgument(path + ": is " + FileKind(info.st_mode));
  return ReadToTheEnd(fd.get(), path, dockerfile::kMaxIgnoreFileBytes);
}

}  // namespace

Result<BuildFiles> ReadBuildFiles(const std::string& file, const std::string& directory,
                                  Links links, NamedPlaces* places) {
  BuildFiles out;
  const Walk& walk = places->Look(directory, Links::kBelow);
  ODY_RETURN_IF_ERROR(walk.status);
  if (!walk.place->is_directory()) return InvalidArgument(directory + ": is no directory");
  out.directory = UniqueFd(openat(walk.place->fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out.directory) return ErrnoStatus(errno, "open " + directory);

  const std::string inside = directory == "." ? "" : directory + "/";
  out.name = file.empty() ? inside + "Dockerfile" : file;
  ODY_ASSIGN_OR_RETURN(out.text, places->Read(out.name, links, dockerfile::kMaxDockerfileBytes));

  out.ignore_name = out.name + kIgnoreName;
  Result<std::string> ignore =
      places->Read(out.ignore_name, links, dockerfile::kMaxIgnoreFileBytes);
  if (ignore.status().code() == Code::kNotFound) {
    out.ignore_name = inside + kIgnoreName;
    ignore = ReadIgnoreFile(out.directory.get(), out.ignore_name);
  }
  if (ignore.ok()) {
    out.ignore_text = *std::move(ignore);
  } else if (ignore.status().code() != Code::kNotFound) {
    return ignore.status();
  }
  return out;
}

}  // namespace odyssey::ctl
