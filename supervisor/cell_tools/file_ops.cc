#include "supervisor/cell_tools/file_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "common/base/utf8.h"
#include "supervisor/cell_tools/list_directory.h"
#include "supervisor/cell_tools/name_filter.h"
#include "supervisor/cell_tools/read_file.h"
#include "supervisor/cell_tools/replace_file.h"
#include "supervisor/cell_tools/run_files.h"
#include "supervisor/cell_tools/run_trim.h"
#include "supervisor/cell_tools/text.h"

namespace odyssey::cell_tools {
namespace {

struct OpenedFile {
  UniqueFd fd;
  uint64_t size = 0;
};

// A regular file that the mount it is in lets file operations see.
Result<OpenedFile> OpenRegular(const PathResolver& resolver, const VisiblePath& path) {
  ODY_ASSIGN_OR_RETURN(OpenedPath opened, resolver.Open(path, O_RDONLY, Access::kRead));
  struct stat info;
  if (fstat(opened.fd.get(), &info) != 0) return AccessError(errno, Access::kRead, path.absolute);
  if (!S_ISREG(info.st_mode)) {
    return FailedPrecondition("path `" + path.given + "` is " +
                              (S_ISDIR(info.st_mode) ? "a directory" : "not a regular file"));
  }
  const cell::ToolRoot& limits = resolver.LimitsAt(opened.absolute);
  const auto size = static_cast<uint64_t>(info.st_size);
  ODY_RETURN_IF_ERROR(CheckSuffix(limits, LastName(opened.absolute), path.given));
  ODY_RETURN_IF_ERROR(CheckSize(limits, "read", size, path.given));
  return OpenedFile{std::move(opened.fd), size};
}

Result<tool::Response> Read(const PathResolver& resolver, const tool::Request& request) {
  ODY_ASSIGN_OR_RETURN(const VisiblePath path, resolver.Parse(request.path, request.no_links));
  ODY_ASSIGN_OR_RETURN(const OpenedFile file, OpenRegular(resolver, path));
  ODY_ASSIGN_OR_RETURN(tool::Response response,
                       ReadPart(file.fd.get(), file.size, request, path.absolute));
  if (response.truncated) {
    response.content.resize(LengthAtCharacterBoundary(response.content));
    response.next_offset = request.offset + response.content.size();
  }
  return response;
}

Result<tool::Response> Write(const PathResolver& resolver, const tool::Request& request) {
  ODY_ASSIGN_OR_RETURN(const VisiblePath path, resolver.Parse(request.path, request.no_links));
  ODY_RETURN_IF_ERROR(CheckMode(request.mode));
  const mode_t mode = request.mode == 0 ? kDefaultMode : request.mode;
  ODY_ASSIGN_OR_RETURN(const Created created,
                       ReplaceFile(resolver, path, request.content, mode, MissingParents::kCreate));
  tool::Response response;
  response.bytes = request.content.size();
  response.created = created == Created::kYes;
  return response;
}

// Makes one edit in `text`; how many occurrences it replaced.
Result<uint32_t> MakeEdit(const tool::EditStep& edit, std::string* text) {
  const auto overlaps = edit.replace_all ? Overlaps::kLeaveOut : Overlaps::kCount;
  const uint32_t count = CountOccurrences(*text, edit.old_text, overlaps);
  if (count == 0) return FailedPrecondition("old_text not found");
  if (count > 1 && !edit.replace_all) {
    return FailedPrecondition("old_text occurs " + std::to_string(count) +
                              " times; add context or set replace_all");
  }
  // In 64 bits: 8 Mi occurrences of 8 MiB each do not overflow.
  const uint64_t size = text->size() + uint64_t{count} * edit.new_text.size();
  if (size > tool::kMaxContent + uint64_t{count} * edit.old_text.size()) {
    return FailedPrecondition("the edited file would be larger than " +
                              std::to_string(tool::kMaxContent) + " bytes");
  }
  *text = ReplaceAll(*text, edit.old_text, edit.new_text);
  return count;
}

// The file is written once, with what all edits make of it: all are made, or none.
Result<tool::Response> EditFile(const PathResolver& resolver, const tool::Request& request,
                                const std::vector<tool::EditStep>& edits) {
  // Where an edit is one of a list, its error says which.
  const auto name = [&](size_t i) {
    return request.op == tool::Op::kEdit ? "" : "edits[" + std::to_string(i) + "]: ";
  };
  ODY_ASSIGN_OR_RETURN(const VisiblePath path, resolver.Parse(request.path, request.no_links));
  for (size_t i = 0; i < edits.size(); ++i) {
    if (edits[i].old_text.empty()) return InvalidArgument(name(i) + "old_text: must not be empty");
  }
  ODY_ASSIGN_OR_RETURN(const OpenedFile file, OpenRegular(resolver, path));
  if (file.size > tool::kMaxContent) {
    return FailedPrecondition("path `" + path.given + "` has " + std::to_string(file.size) +
                              " bytes, at most " + std::to_string(tool::kMaxContent) +
                              " can be edited");
  }
  ODY_ASSIGN_OR_RETURN(std::string text, ReadAt(file.fd.get(), 0, file.size, path.absolute));
  tool::Response response;
  for (size_t i = 0; i < edits.size(); ++i) {
    const Result<uint32_t> count = MakeEdit(edits[i], &text);
    if (!count.ok()) return FailedPrecondition(name(i) + count.status().message());
    response.replacements += *count;
  }
  ODY_ASSIGN_OR_RETURN([[maybe_unused]] const Created created,
                       ReplaceFile(resolver, path, text, kDefaultMode, MissingParents::kError));
  return response;
}

Result<tool::Response> Edit(const PathResolver& resolver, const tool::Request& request) {
  return EditFile(resolver, request, {{request.old_text, request.new_text, request.replace_all}});
}

Result<tool::Response> MultiEdit(const PathResolver& resolver, const tool::Request& request) {
  if (request.edits.empty()) return InvalidArgument("edits: give one or more");
  return EditFile(resolver, request, request.edits);
}

Result<tool::Response> List(const PathResolver& resolver, const tool::Request& request) {
  const std::string& named = request.path.empty() ? "." : request.path;
  ODY_ASSIGN_OR_RETURN(const VisiblePath path, resolver.Parse(named, request.no_links));
  return ListDirectory(resolver, path);
}

Result<tool::Response> Dispatch(const Reach& reach, const tool::Request& request) {
  const PathResolver& resolver = reach.paths;
  switch (request.op) {
    case tool::Op::kRead:
      return Read(resolver, request);
    case tool::Op::kWrite:
      return Write(resolver, request);
    case tool::Op::kEdit:
      return Edit(resolver, request);
    case tool::Op::kList:
      return List(resolver, request);
    case tool::Op::kMultiEdit:
      return MultiEdit(resolver, request);
    case tool::Op::kMakeRun:
      return MakeRun(reach.runs, request);
    case tool::Op::kCreate:
      return Create(reach.runs, request);
    case tool::Op::kAppend:
      return Append(reach.runs, request);
    case tool::Op::kFetch:
      return Fetch(reach.runs, request);
    case tool::Op::kTree:
      return ListTree(reach.runs, request);
    case tool::Op::kDiscard:
      return Discard(reach.runs, request);
    case tool::Op::kTrim:
      return TrimRuns(reach.runs, request);
  }
  return InvalidArgument("op: unknown");
}

}  // namespace

tool::Response Perform(const Reach& reach, const tool::Request& request) {
  Result<tool::Response> result = Dispatch(reach, request);
  if (result.ok()) return std::move(result).value();
  tool::Response response;
  response.code = result.status().code();
  response.error = SanitizeUtf8(result.status().message());
  response.leads_to = SanitizeUtf8(result.status().detail().value).substr(0, tool::kMaxPath);
  return response;
}

}  // namespace odyssey::cell_tools
