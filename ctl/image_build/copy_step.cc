#include "ctl/image_build/copy_step.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/os/file.h"
#include "ctl/image_build/confined.h"
#include "ctl/image_build/temporary_file.h"
#include "image/dockerfile/path_pattern.h"

namespace odyssey::ctl {
namespace {

using dockerfile::CleanPath;
using dockerfile::Globstar;
using dockerfile::PathPattern;
using image::TarHeader;
using image::TarPacking;
using image::TarPart;

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string Joined(const std::string& directory, const std::string& name) {
  if (directory.empty() || name.empty()) return directory + name;
  return directory + "/" + name;
}

// Without the slash in front.
std::string Relative(const std::string& path) { return path.substr(1); }

bool IsPattern(const std::string& source, const PathPattern& pattern) {
  return pattern.is_wild() || source.find('\\') != std::string::npos;
}

mode_t TypeOf(ContextKind kind) {
  switch (kind) {
    case ContextKind::kDirectory:
      return S_IFDIR;
    case ContextKind::kLink:
      return S_IFLNK;
    case ContextKind::kFile:
      break;
  }
  return S_IFREG;
}

TarHeader HeaderOf(const ContextFile& file, std::string path) {
  return {.path = std::move(path),
          .type = TypeOf(file.kind),
          .mode = file.mode,
          .size = file.size,
          .mtime = file.mtime,
          .link = file.target};
}

// The components before the first that is a pattern, and the rest.
std::pair<std::string, std::string> SplitPattern(const std::string& path) {
  const size_t wild = path.find_first_of("*?[\\");
  const size_t slash = path.rfind('/', wild);
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

Status CopyStep::SetDestination(const std::string& path, bool is_directory, size_t sources) {
  ODY_ASSIGN_OR_RETURN(destination_, tree_->Resolve(path));
  const bool exists = destination_.header.has_value();
  const bool directory = exists && S_ISDIR(destination_.header->type);
  into_directory_ = is_directory || directory;
  if (exists && !directory && is_directory) {
    return InvalidArgument(destination_.path + ": is no directory in the image");
  }
  if (sources > 1 && !into_directory_) {
    return InvalidArgument(path + ": of several sources the destination has to end with /");
  }
  return OkStatus();
}

Result<std::string> CopyStep::PlaceOf(const std::string& name) const {
  const std::string place = Relative(destination_.path);
  return into_directory_ ? Joined(place, name) : place;
}

Result<std::string> CopyStep::DirectoryPlace() const {
  if (destination_.header && !S_ISDIR(destination_.header->type)) {
    return InvalidArgument(destination_.path + ": is no directory in the image");
  }
  return Relative(destination_.path);
}

Status CopyStep::Add(Item item) {
  if (item.header.path.empty()) return OkStatus();  // of the root nothing is changed
  ODY_RETURN_IF_ERROR(plan_.Add(item.header.path, S_ISDIR(item.header.type)));
  std::string path = item.header.path;
  items_.insert_or_assign(std::move(path), std::move(item));
  return OkStatus();
}

Status CopyStep::AddNamed(const std::string& path, const std::string& name, Archives archives) {
  const ContextFile* const file = path.empty() ? nullptr : context_->Find(path);
  if (file == nullptr || file->kind == ContextKind::kDirectory) {
    ODY_ASSIGN_OR_RETURN(const std::string place, DirectoryPlace());
    const mode_t mode = file == nullptr ? 0755 : file->mode;
    const int64_t mtime = file == nullptr ? 0 : file->mtime;
    ODY_RETURN_IF_ERROR(
        Add({.header = {.path = place, .type = S_IFDIR, .mode = mode, .mtime = mtime}}));
    const size_t start = path.empty() ? 0 : path.size() + 1;
    for (const ContextFile* below : context_->Below(path)) {
      std::string to = Joined(place, below->path.substr(start));
      ODY_RETURN_IF_ERROR(Add({.header = HeaderOf(*below, std::move(to)), .file = below}));
    }
    return OkStatus();
  }
  if (archives == Archives::kUnpack && file->kind == ContextKind::kFile) {
    ODY_ASSIGN_OR_RETURN(const bool unpacked, AddArchive(*file));
    if (unpacked) return OkStatus();
  }
  ODY_ASSIGN_OR_RETURN(std::string place, PlaceOf(name));
  return Add({.header = HeaderOf(*file, std::move(place)), .file = file});
}

Status CopyStep::AddFromContext(const std::string& source, Archives archives) {
  const std::string path = CleanPath(source);
  ODY_ASSIGN_OR_RETURN(const PathPattern pattern, PathPattern::Parse(path, Globstar::kNone));
  if (!IsPattern(path, pattern)) {
    ODY_ASSIGN_OR_RETURN(const std::string resolved, context_->Resolve(path));
    return AddNamed(resolved, NameOf(path), archives);
  }
  std::vector<std::string> matches;
  for (const ContextFile& file : context_->files()) {
    if (pattern.Matches(file.path)) matches.push_back(file.path);
  }
  if (matches.empty()) return NotFound(source + ": nothing in the context fits, or it is ignored");
  if (matches.size() > 1 && !into_directory_) {
    return InvalidArgument(source + ": fits several files; the destination has to end with / then");
  }
  for (const std::string& match : matches) {
    ODY_ASSIGN_OR_RETURN(const std::string resolved, context_->Resolve(match));
    ODY_RETURN_IF_ERROR(AddNamed(resolved, NameOf(match), archives));
  }
  return OkStatus();
}

Status CopyStep::AddHeredoc(const std::string& name, const std::string& content) {
  ODY_ASSIGN_OR_RETURN(std::string place, PlaceOf(name));
  return Add(
      {.header = {.path = std::move(place), .type = S_IFREG, .mode = 0644, .size = content.size()},
       .content = content});
}

Result<std::vector<TarHeader>> CopyStep::List(int file, TarPacking packing) const {
  ODY_ASSIGN_OR_RETURN(const std::string text, RunConfined(
                                                   [&]() -> Result<std::string> {
                                                     const auto listed = image::ListTar(
                                                         file, packing, SIZE_MAX, {});
                                                     if (!listed.ok()) return listed.status();
                                                     return image::EncodeHeaders(*listed);
                                                   },
                                                   signals_));
  return image::DecodeHeaders(text);
}

Status CopyStep::AddPart(TarPart part, const std::vector<TarHeader>& headers) {
  for (const TarHeader& header : headers) {
    const std::optional<std::string> name = image::NameInLayer(part, header.path);
    if (!name || name->empty()) continue;
    ODY_RETURN_IF_ERROR(plan_.Add(*name, S_ISDIR(header.type)));
  }
  parts_.push_back(std::move(part));
  return OkStatus();
}

Result<bool> CopyStep::AddArchive(const ContextFile& file) {
  // A copy, so that what is unpacked is what was compared.
  ODY_ASSIGN_OR_RETURN(UniqueFd copy, MakeTemporaryFile());
  ODY_RETURN_IF_ERROR(context_->ReadContent(
      file, [&](std::string_view bytes) { return WriteAll(copy.get(), bytes); }));
  const Result<std::vector<TarHeader>> headers = List(copy.get(), TarPacking::kAny);
  if (headers.status().code() == Code::kFailedPrecondition) return false;
  if (!headers.ok()) {
    return Status(headers.status().code(), file.path + ": " + headers.status().message());
  }
  ODY_ASSIGN_OR_RETURN(std::string place, DirectoryPlace());
  ODY_RETURN_IF_ERROR(AddPart({copy.get(), TarPacking::kAny, "", std::move(place)}, *headers));
  files_.push_back(std::move(copy));
  return true;
}

Result<int> CopyStep::Fetch(const std::string& image, const std::string& path) {
  ODY_ASSIGN_OR_RETURN(UniqueFd file, MakeTemporaryFile());
  const Status read = store_->ReadFiles(image, path, [&](std::string_view bytes) -> Result<bool> {
    ODY_RETURN_IF_ERROR(WriteAll(file.get(), bytes));
    return true;
  });
  ODY_RETURN_IF_ERROR(read);
  files_.push_back(std::move(file));
  return files_.back().get();
}

Status CopyStep::AddFromImage(const std::string& source, ImageTree* from) {
  const std::string path = CleanPath(source);
  ODY_ASSIGN_OR_RETURN(const PathPattern pattern, PathPattern::Parse(path, Globstar::kNone));
  if (IsPattern(path, pattern)) {
    const auto [directory, rest] = SplitPattern(path);
    return AddMatches(rest, "/" + directory, from);
  }
  ODY_ASSIGN_OR_RETURN(const ImageTree::Found found, from->Resolve("/" + path));
  if (!found.header) return NotFound("/" + path + ": the image has none");
  ODY_ASSIGN_OR_RETURN(const int file, Fetch(from->image(), found.path));
  ODY_ASSIGN_OR_RETURN(const std::vector<TarHeader> headers, List(file, TarPacking::kPlain));
  TarPart part{file, TarPacking::kPlain, NameOf(found.path), {}};
  if (S_ISDIR(found.header->type)) {
    ODY_ASSIGN_OR_RETURN(part.to, DirectoryPlace());
  } else {
    ODY_ASSIGN_OR_RETURN(part.to, PlaceOf(NameOf(path)));
  }
  return AddPart(std::move(part), headers);
}

Status CopyStep::AddMatches(const std::string& text, const std::string& directory,
                            ImageTree* from) {
  ODY_ASSIGN_OR_RETURN(const PathPattern pattern, PathPattern::Parse(text, Globstar::kNone));
  ODY_ASSIGN_OR_RETURN(const ImageTree::Found found, from->Resolve(directory));
  if (!found.header) return NotFound(directory + ": the image has none");
  ODY_ASSIGN_OR_RETURN(const int file, Fetch(from->image(), found.path));
  ODY_ASSIGN_OR_RETURN(const std::vector<TarHeader> headers, List(file, TarPacking::kPlain));
  const std::string top = NameOf(found.path);
  std::vector<TarHeader> matches;
  for (const TarHeader& header : headers) {
    if (header.path == top || !header.path.starts_with(top.empty() ? top : top + "/")) continue;
    const std::string below = header.path.substr(top.empty() ? 0 : top.size() + 1);
    if (pattern.Matches(below)) matches.push_back(header);
  }
  const std::string shown = (directory == "/" ? "" : directory) + "/" + text;
  if (matches.empty()) return NotFound(shown + ": the image has none");
  if (matches.size() > 1 && !into_directory_) {
    return InvalidArgument(shown + ": fits several files; the destination has to end with / then");
  }
  for (const TarHeader& match : matches) {
    TarPart part{file, TarPacking::kPlain, match.path, {}};
    if (S_ISDIR(match.type)) {
      ODY_ASSIGN_OR_RETURN(part.to, DirectoryPlace());
    } else {
      ODY_ASSIGN_OR_RETURN(part.to, PlaceOf(NameOf(match.path)));
    }
    ODY_RETURN_IF_ERROR(AddPart(std::move(part), headers));
  }
  return OkStatus();
}

Status CopyStep::WriteItems(const image::RepackRules& rules, image::TarWriter* out) const {
  for (const auto& [path, item] : items_) {
    const TarHeader header = image::Ruled(rules, item.header);
    ODY_RETURN_IF_ERROR(out->Begin(header));
    if (!S_ISREG(header.type)) continue;
    if (item.file == nullptr) {
      ODY_RETURN_IF_ERROR(out->Data(item.content));
    } else {
      ODY_RETURN_IF_ERROR(context_->ReadContent(
          *item.file, [out](std::string_view bytes) { return out->Data(bytes); }));
    }
  }
  return OkStatus();
}

Status CopyStep::Write(image::RepackRules rules, int file) {
  plan_.Complete(&rules);
  if (parts_.empty()) {
    image::TarWriter out(file);
    for (const TarHeader& header : rules.above) ODY_RETURN_IF_ERROR(out.Begin(header));
    ODY_RETURN_IF_ERROR(WriteItems(rules, &out));
    return out.Finish();
  }
  if (!items_.empty()) {
    ODY_ASSIGN_OR_RETURN(UniqueFd own, MakeTemporaryFile());
    image::TarWriter out(own.get());
    ODY_RETURN_IF_ERROR(WriteItems(rules, &out));
    ODY_RETURN_IF_ERROR(out.Finish());
    parts_.insert(parts_.begin(), {own.get(), TarPacking::kPlain, "", ""});
    files_.push_back(std::move(own));
  }
  return RunConfined(
             [&]() -> Result<std::string> {
               image::TarWriter out(file);
               ODY_RETURN_IF_ERROR(image::Repack(parts_, rules, {}, &out));
               ODY_RETURN_IF_ERROR(out.Finish());
               return std::string();
             },
             signals_)
      .status();
}

}  // namespace odyssey::ctl
