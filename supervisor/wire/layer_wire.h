#ifndef ODYSSEY_SUPERVISOR_WIRE_LAYER_WIRE_H_
#define ODYSSEY_SUPERVISOR_WIRE_LAYER_WIRE_H_

// What odyssey-supervisor-rpc and odyssey-cell-layer, the only process of a layer cell, send each
// other: two datagrams on the cell's socket, Order with the end of a pipe that the tar passes, and
// Done. The cell ends when the socket closes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::layer {

inline constexpr uint32_t kMaxPath = 4095;           // PATH_MAX without its NUL
inline constexpr uint32_t kMaxAccounts = 64 * 1024;  // of /etc/passwd or /etc/group
inline constexpr uint32_t kMaxLeftOut = 256;
inline constexpr uint32_t kMaxPrograms = 256;  // compile::kMaxExecutables

// Where the cell has what is packed: a cell's upper layer, read-only. What is unpacked goes to
// plan::kLayerPath.
inline constexpr char kFromPath[] = "/layer-from";

// kUnpack: the tar into plan::kLayerPath. kPack: kFromPath as a layer. kRead: `path` of the cell's
// root. kFind: no tar, but `programs` of the cell's root as policy/executables/found_encoding.h has
// them.
enum class Op : uint8_t { kUnpack, kPack, kRead, kFind };

struct Order {
  Op op = Op::kUnpack;
  // kUnpack, kPack: of files, and how many.
  uint64_t max_bytes = 0, max_entries = 0;
  std::string path;                    // kRead
  std::vector<std::string> leave_out;  // kPack: relative paths
  std::vector<std::string> programs;   // kFind: names, or absolute paths
  friend bool operator==(const Order&, const Order&) = default;
};

// What a layer does to a file of the layers below: nothing; it takes it away, or has no regular
// file of at most kMaxAccounts in its place; it has `text`.
enum class FileState : uint8_t { kUntouched, kHidden, kText };
struct AccountFile {
  FileState state = FileState::kUntouched;
  std::string text;
  friend bool operator==(const AccountFile&, const AccountFile&) = default;
};

struct Done {
  Status status;
  uint64_t entries = 0, bytes = 0, set_id_files = 0;
  AccountFile passwd, group;  // kUnpack: etc/passwd and etc/group
};

std::string Encode(const Order& order);
std::string Encode(const Done& done);
Status Decode(std::string_view bytes, Order* order);
Status Decode(std::string_view bytes, Done* done);

}  // namespace odyssey::layer

#endif  // ODYSSEY_SUPERVISOR_WIRE_LAYER_WIRE_H_
