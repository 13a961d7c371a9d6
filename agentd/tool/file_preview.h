#ifndef ODYSSEY_AGENTD_TOOL_FILE_PREVIEW_H_
#define ODYSSEY_AGENTD_TOOL_FILE_PREVIEW_H_

// What a call of Write or Edit would change, for the person who is asked about it.

#include <cstddef>
#include <optional>
#include <string>

#include "agentd/sandbox/sandbox.h"

namespace odyssey::tools {

// Of a diff. More is cut after a line, and a last line says how many are missing.
inline constexpr size_t kMaxPreviewBytes = 64 * 1024;

struct FileChange {
  std::optional<std::string> before;  // nothing: there is no such file
  std::string after;
};

// The whole file, nothing if there is none. RESOURCE_EXHAUSTED for a larger one than is compared.
Result<std::optional<std::string>> ReadBefore(sandbox::Sandbox& sandbox,
                                              const sandbox::FilePlace& place,
                                              const std::string& path);

// As the Edit tool replaces; nothing where it refuses. Pure.
std::optional<std::string> Replace(const std::string& text, const std::string& old_text,
                                   const std::string& new_text, bool replace_all);

// A unified diff; "" if nothing changes. Pure.
std::string DiffOf(const std::string& path, const FileChange& change);

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_FILE_PREVIEW_H_
