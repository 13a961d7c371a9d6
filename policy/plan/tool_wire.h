#ifndef ODYSSEY_POLICY_PLAN_TOOL_WIRE_H_
#define ODYSSEY_POLICY_PLAN_TOOL_WIRE_H_

// What odyssey-supervisor-rpc and odyssey-cell-tools say to each other over one SOCK_STREAM: frames
// of u32 length (little-endian) + payload, one answer per request, in order.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::tool {

inline constexpr uint32_t kMaxPath = 4095;  // PATH_MAX without its NUL
inline constexpr uint32_t kMaxContent = 8 * 1024 * 1024;
inline constexpr uint32_t kMaxFrame = kMaxContent * 2 + 64 * 1024;  // an edit carries two texts
inline constexpr uint32_t kDefaultReadBytes = 200'000;
inline constexpr uint32_t kMaxListEntries = 10'000;

enum class Op : uint8_t { kRead, kWrite, kEdit, kList };

// One request; the fields that its op uses.
struct Request {
  Op op = Op::kRead;
  std::string path;          // relative to the workspace, or absolute in the cell
  uint64_t offset = 0;       // kRead
  uint64_t max_bytes = 0;    // kRead; 0 = kDefaultReadBytes
  std::string content;       // kWrite; kEdit: old text
  std::string replacement;   // kEdit: new text
  uint32_t mode = 0;         // kWrite: of a new file; 0 = 0644
  bool replace_all = false;  // kEdit
  friend bool operator==(const Request&, const Request&) = default;
};

struct ListEntry {
  std::string name;
  std::string path;  // relative to the workspace if the request was
  std::string type;  // "dir", "file", "symlink", "other"
  uint64_t size = 0;
  friend bool operator==(const ListEntry&, const ListEntry&) = default;
};

struct Response {
  Code code = Code::kOk;  // with `error`
  std::string error;
  std::string content;             // kRead
  uint64_t total_bytes = 0;        // kRead: of the file; kWrite: written
  uint64_t next_offset = 0;        // kRead: 0 at the end
  bool truncated = false;          // kRead, kList
  bool created = false;            // kWrite
  uint32_t replacements = 0;       // kEdit
  std::vector<ListEntry> entries;  // kList
  friend bool operator==(const Response&, const Response&) = default;
};

std::string Encode(const Request& request);
std::string Encode(const Response& response);
Status Decode(std::string_view payload, Request* request);
Status Decode(std::string_view payload, Response* response);

// Blocking. UNAVAILABLE when the peer closed; INVALID_ARGUMENT for a frame over kMaxFrame.
Status WriteFrame(int fd, std::string_view payload);
Result<std::string> ReadFrame(int fd);

}  // namespace odyssey::tool

#endif  // ODYSSEY_POLICY_PLAN_TOOL_WIRE_H_
