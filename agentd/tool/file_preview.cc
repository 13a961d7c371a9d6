#include "agentd/tool/file_preview.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/diff/diff.h"

namespace odyssey::tools {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{4} << 20;
constexpr uint32_t kRegularFile = 0100644;

std::string CutLines(std::string text) {
  constexpr size_t kNoteBytes = 64;
  if (text.size() <= kMaxPreviewBytes) return text;
  const size_t cut = text.rfind('\n', kMaxPreviewBytes - kNoteBytes) + 1;  // 0: in the first line
  const auto missing = std::count(text.begin() + static_cast<long>(cut), text.end(), '\n');
  text.resize(cut);
  return text + "\\ " + std::to_string(missing) + (missing == 1 ? " more line\n" : " more lines\n");
}

}  // namespace

Result<std::optional<std::string>> ReadBefore(sandbox::Sandbox& sandbox,
                                              const sandbox::FilePlace& place,
                                              const std::string& path) {
  std::string content;
  for (uint64_t offset = 0;;) {
    Result<supervisor::v1::FileReadResult> read =
        sandbox.ReadFile(place, path, offset, kMaxFileBytes);
    if (read.status().code() == Code::kNotFound) return std::optional<std::string>();
    ODY_RETURN_IF_ERROR(read.status());
    if (read->total_bytes() > kMaxFileBytes) return ResourceExhausted(path + ": too large");
    content += read->content();
    if (!read->truncated()) return std::optional<std::string>(std::move(content));
    if (read->next_offset() <= offset) return Internal(path + ": cut, and no way on");
    offset = read->next_offset();
  }
}

std::optional<std::string> Replace(const std::string& text, const std::string& old_text,
                                   const std::string& new_text, bool replace_all) {
  std::string out;
  size_t from = 0;
  size_t count = 0;
  const size_t first = text.find(old_text);
  const bool overlaps = first != text.npos && text.find(old_text, first + 1) != text.npos;
  if (overlaps && !replace_all) return std::nullopt;
  for (size_t at; (at = text.find(old_text, from)) != std::string::npos; ++count) {
    out.append(text, from, at - from);
    out += new_text;
    from = at + old_text.size();
  }
  if (count == 0) return std::nullopt;
  return out.append(text, from);
}

std::string DiffOf(const std::string& path, const FileChange& change) {
  const std::string_view before = change.before ? std::string_view(*change.before) : "";
  if (change.before && before == change.after) return "";
  const std::string relative = path.substr(std::min(path.find_first_not_of('/'), path.size()));
  diff::File file{.old_path = change.before ? relative : "",
                  .new_path = relative,
                  .old_mode = change.before ? kRegularFile : 0,
                  .new_mode = kRegularFile,
                  .same_content = before == change.after,
                  .binary = diff::IsBinary(before) || diff::IsBinary(change.after)};
  std::string out = diff::FormatHeader(file);
  if (file.same_content || file.binary) return out;
  for (const diff::Hunk& hunk : diff::Compare(before, change.after)) out += diff::Format(hunk);
  return CutLines(std::move(out));
}

}  // namespace odyssey::tools
