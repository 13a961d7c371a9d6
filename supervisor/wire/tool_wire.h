#ifndef ODYSSEY_SUPERVISOR_WIRE_TOOL_WIRE_H_
#define ODYSSEY_SUPERVISOR_WIRE_TOOL_WIRE_H_

// What odyssey-supervisor-rpc and a cell's file worker send each other over one SOCK_STREAM:
// frames of u32 length (little-endian) + payload, one answer per request, in order.
//
// An operation of clients is an Op with a row in kClientOps, and its fields in Request and
// Response. Each field is listed once, in VisitFields: the codec and rpc's conversion from and to
// the API's FileOp messages are made of that list.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::tool {

inline constexpr uint32_t kMaxPath = 4095;  // PATH_MAX without its NUL
inline constexpr uint32_t kMaxContent = 8 * 1024 * 1024;
// An edit carries two texts. More than rpc's largest gRPC message, so that no request is too long.
inline constexpr uint32_t kMaxFrame = kMaxContent * 2 + 2 * 1024 * 1024;
inline constexpr uint32_t kMaxEdits = 256;
inline constexpr uint32_t kDefaultReadBytes = 200'000;
inline constexpr uint32_t kMaxListEntries = 10'000;
// Runs of a cell that stay beside those that a trim is told to keep.
inline constexpr uint32_t kKeptRuns = 64;
inline constexpr uint32_t kMaxNames = 8192;
inline constexpr uint32_t kMaxName = 255;  // NAME_MAX
inline constexpr uint32_t kMaxType = 16;   // of ListEntry

// The first five serve clients: `path` is relative to the workspace, or absolute in the cell. The
// others serve rpc itself: `path` is relative to the directory of runs, or absolute in the cell,
// and no symbolic link in it is followed.
enum class Op : uint8_t {
  kRead,
  kWrite,
  kEdit,
  kList,
  kMultiEdit,
  kMakeRun,  // a run's directories; those that are there stay
  kCreate,   // a new file, and the directories on the way to it
  kAppend,   // at the end of a file, which is at `offset`
  kFetch,    // as kRead, of a regular file, cut anywhere
  kTree,     // everything below a directory but directories; or one file
  kDiscard,  // a file, and the empty directories above it
  kTrim,     // runs that are too old
};

// What the supervisor knows of an operation of clients beside its fields.
struct ClientOp {
  Op op;
  const char* name;  // in FileOpRequest, FileOpResponse and the audit log
  bool writes;       // `path`; such an operation is recorded
};
inline constexpr auto kClientOps = std::to_array<ClientOp>({
    {Op::kRead, "read", false},
    {Op::kWrite, "write", true},
    {Op::kEdit, "edit", true},
    {Op::kList, "list", false},
    {Op::kMultiEdit, "multi_edit", true},
});

// Null: an operation of rpc's own.
constexpr const ClientOp* FindClientOp(Op op) {
  for (const ClientOp& row : kClientOps) {
    if (row.op == op) return &row;
  }
  return nullptr;
}
constexpr bool Writes(Op op) {
  const ClientOp* row = FindClientOp(op);
  return row != nullptr && row->writes;
}

struct EditStep {
  std::string old_text, new_text;
  bool replace_all = false;
  friend bool operator==(const EditStep&, const EditStep&) = default;
};

// One request; the fields that its op uses.
struct Request {
  Op op = Op::kRead;
  std::string path;
  uint64_t offset = 0;             // kRead, kAppend, kFetch
  uint64_t max_bytes = 0;          // kRead, kFetch; 0 = kDefaultReadBytes
  std::string content;             // kWrite, kCreate, kAppend
  std::string old_text, new_text;  // kEdit
  uint32_t mode = 0;               // kWrite, kCreate: of a new file; 0 = 0644
  bool replace_all = false;        // kEdit; kCreate: over what is there
  bool no_links = false;           // of clients' operations: ABORTED if `path` has a symbolic link
  std::vector<EditStep> edits;     // kMultiEdit
  uint32_t directories = 0;        // kDiscard: how many of those above it go too
  std::vector<std::string> names;  // kTrim: runs that stay, however old
  friend bool operator==(const Request&, const Request&) = default;
};

struct ListEntry {
  std::string name;
  std::string path;  // relative to the workspace if the request was
  // kList: "dir", "file", "symlink", "other". kTree: "file", or why it is none to fetch:
  // "symbolic link", "named pipe", "socket", "device", "name not UTF-8".
  std::string type;
  uint64_t size = 0;
  uint32_t mode = 0;  // kTree: permission bits
  friend bool operator==(const ListEntry&, const ListEntry&) = default;
};

struct Response {
  Code code = Code::kOk;  // with `error`
  std::string error;
  std::string leads_to;            // of ABORTED by no_links: where `path` leads, absolute
  std::string content;             // kRead, kFetch
  uint64_t total_bytes = 0;        // kRead, kFetch: of the file
  uint64_t next_offset = 0;        // kRead, kFetch: 0 at the end
  bool truncated = false;          // kRead, kFetch, kList, kTree; kTrim: there is more to do
  uint64_t bytes = 0;              // kWrite: written
  bool created = false;            // kWrite
  uint32_t replacements = 0;       // kEdit, kMultiEdit
  uint32_t directories = 0;        // kCreate: how many it made
  uint32_t runs = 0;               // kTrim: how many are left
  std::vector<ListEntry> entries;  // kList, kTree
  friend bool operator==(const Response&, const Response&) = default;
};

// Every field but op, code and error, by its name in the API and with its bounds, in the order of
// the encoding. A visitor has U32, U64, Bool, Text, Texts and List.
void VisitFields(auto& v, EditStep& m) {
  v.Text("old_text", m.old_text, kMaxContent);
  v.Text("new_text", m.new_text, kMaxContent);
  v.Bool("replace_all", m.replace_all);
}

void VisitFields(auto& v, Request& m) {
  v.Text("path", m.path, kMaxPath);
  v.U64("offset", m.offset);
  v.U64("max_bytes", m.max_bytes);
  v.Text("content", m.content, kMaxContent);
  v.Text("old_text", m.old_text, kMaxContent);
  v.Text("new_text", m.new_text, kMaxContent);
  v.U32("mode", m.mode);
  v.Bool("replace_all", m.replace_all);
  v.Bool("no_links", m.no_links);
  v.List("edits", m.edits, kMaxEdits);
  v.U32("directories", m.directories);
  v.Texts("names", m.names, kMaxNames, kMaxPath);
}

void VisitFields(auto& v, ListEntry& m) {
  v.Text("name", m.name, kMaxName);
  v.Text("path", m.path, kMaxPath);
  v.Text("type", m.type, kMaxType);
  v.U64("size", m.size);
  v.U32("mode", m.mode);
}

void VisitFields(auto& v, Response& m) {
  v.Text("leads_to", m.leads_to, kMaxPath);
  v.Text("content", m.content, kMaxContent);
  v.U64("total_bytes", m.total_bytes);
  v.U64("next_offset", m.next_offset);
  v.Bool("truncated", m.truncated);
  v.U64("bytes", m.bytes);
  v.Bool("created", m.created);
  v.U32("replacements", m.replacements);
  v.U32("directories", m.directories);
  v.U32("runs", m.runs);
  v.List("entries", m.entries, kMaxListEntries);
}

std::string Encode(const Request& request);
std::string Encode(const Response& response);
Status Decode(std::string_view payload, Request* request);
Status Decode(std::string_view payload, Response* response);

// A frame is its header and its payload. PayloadSize: INVALID_ARGUMENT for more than kMaxFrame.
inline constexpr size_t kFrameHeaderBytes = sizeof(uint32_t);
std::string FrameHeader(size_t payload_size);
Result<size_t> PayloadSize(std::string_view header);

// Blocking. UNAVAILABLE when the peer closed; INVALID_ARGUMENT for a frame over kMaxFrame.
Status WriteFrame(int fd, std::string_view payload);
Result<std::string> ReadFrame(int fd);

}  // namespace odyssey::tool

#endif  // ODYSSEY_SUPERVISOR_WIRE_TOOL_WIRE_H_
