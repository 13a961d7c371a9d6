#include "supervisor/cell_tools/file_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

constexpr mode_t kDefaultMode = 0644;

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
  ODY_ASSIGN_OR_RETURN(const VisiblePath path, resolver.Parse(request.path));
  ODY_ASSIGN_OR_RETURN(const OpenedFile file, OpenRegular(resolver, path));

  const uint64_t wanted = request.max_bytes == 0 ? tool::kDefaultReadBytes : request.max_bytes;
  const uint64_t rest = file.size - std::min(file.size, request.offset);
  const uint64_t length = std::min({wanted, uint64_t{tool::kMaxContent}, rest});
  tool::Response response;
  response.total_bytes = file.size;
  if (length == 0) return response;

  ODY_ASSIGN_OR_RETURN(response.content,
                       ReadAt(file.fd.get(), request.offset, length, path.absolute));
  // Shorter than asked: the file shrank meanwhile, and this is its end.
  response.truncated = response.content.size() == length && length < rest;
  if (response.truncated) {
    response.content.resize(LengthAtCharacterBoundary(response.content));
    response.next_offset = request.offset + response.content.size();
  }
  return response;
}

Result<tool::Response> Write(const PathResolver& resolver, const tool::Request& request) {
  ODY_ASSIGN_OR_RETURN(const VisiblePath path, resolver.Parse(request.path));
  ODY_RETURN_IF_ERROR(CheckMode(request.mode));
  if (request.content.size() > tool::kMaxContent) {
    return InvalidArgument("content: " + std::to_string(request.content.size()) +
                           " bytes, at most " + std::to_string(tool::kMaxContent));
  }
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
  const uint32_t count = CountOccurrences(*text, edit.old_text);
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

// Where an edit is one of a list, its error says which.
enum class EditNames { kNone, kInList };

// The file is written once, with what all edits make of it: all are made, or none.
Result<tool::Response> EditFile(const PathResolver& resolver, const std::string& given,
                                const std::vector<tool::EditStep>& edits, EditNames names) {
  const auto name = [&](size_t i) {
    return names == EditNames::kNone ? "" : "edits[" + std::to_string(i) + "]: ";
  };
  ODY_ASSIGN_OR_RETURN(const VisiblePath path, resolver.Parse(given));
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
  return EditFile(resolver, request.path,
                  {{request.old_text, request.new_text, request.replace_all}}, EditNames::kNone);
}

Result<tool::Response> MultiEdit(const PathResolver& resolver, const tool::Request& request) {
  if (request.edits.empty()) return InvalidArgument("edits: give one or more");
  return EditFile(resolver, request.path, request.edits, EditNames::kInList);
}

Result<tool::Response> List(const PathResolver& resolver, const tool::Request& request) {
  ODY_ASSIGN_OR_RETURN(const VisiblePath path,
                       resolver.Parse(request.path.empty() ? "." : request.path));
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
  return response;
}

}  // namespace odyssey::cell_tools
