#ifndef ODYSSEY_SUPERVISOR_WIRE_REVIEW_WIRE_H_
#define ODYSSEY_SUPERVISOR_WIRE_REVIEW_WIRE_H_

// What odyssey-supervisor-rpc and odyssey-cell-review, the only process of a review cell, say to
// each other. First one datagram on the cell's socket: Setup, with one end of a SOCK_STREAM pair.
// Then, on the stream, frames as in tool_wire.h: one Request, then any number of Items and one End.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::review {

inline constexpr uint32_t kMaxPath = 64 * 1024;    // deeper than PATH_MAX is possible
inline constexpr uint32_t kMaxText = 1024 * 1024;  // of one Item
inline constexpr uint32_t kMaxDirectories = 256;
inline constexpr uint32_t kMaxLeftOut = 256;
inline constexpr uint32_t kMaxSelections = 100'000;
inline constexpr uint32_t kMaxHunks = 10'000;
inline constexpr uint32_t kMaxChanges = 100'000;  // of one list

struct Setup {
  uint32_t directories = 0;  // /review/0 … /review/<n-1>
  bool write_host = false;
  bool write_upper = false;
  bool fork = false;  // /review/{from,to} instead
  // What the cell changed of an image: the cell's root is in place of /review/0/host. No change is
  // marked, since none reaches the host, and these names of the root are passed over.
  bool image = false;
  std::vector<std::string> leave_out;
  friend bool operator==(const Setup&, const Setup&) = default;
};

// kSettle: forgets what the cell left as it was, or was committed, where the host has changed it
// since. kCompare: in a cell of /review/N/{host,against,upper}, a diff of two cells' changes.
enum class Op : uint8_t { kList, kDiff, kCommit, kUndo, kDiscard, kSettle, kLog, kFork, kCompare };
enum class ChangeKind : uint8_t { kAdded, kModified, kDeleted, kRenamed, kMode, kLink, kType };

// A path relative to the directory: itself and all that is below it; "" means the whole directory.
struct Selection {
  uint32_t directory = 0;
  std::string path;
  bool marked = false;          // kCommit: also what is marked there
  std::vector<uint32_t> hunks;  // kCommit: of one modified text file, numbered from 1; empty: all
  friend bool operator==(const Selection&, const Selection&) = default;
};

struct Request {
  Op op = Op::kList;
  std::vector<Selection> selections;  // empty: everything
  std::string expected;               // kCommit: End.digest of a list of the same; "": any
  uint64_t max_bytes = 0;             // kDiff, kCompare: of text in all
  uint32_t max_changes = kMaxChanges;
  uint32_t commits = 1;  // kUndo: how many of the newest
  friend bool operator==(const Request&, const Request&) = default;
};

struct Change {
  uint32_t directory = 0;
  std::string path;
  ChangeKind kind = ChangeKind::kAdded;
  std::string from;  // kRenamed
  // st_mode; 0: there is none.
  uint32_t old_mode = 0, new_mode = 0;
  uint64_t old_size = 0, new_size = 0;
  bool binary = false;
  std::string mark;      // not empty: programs on the host would run or obey it; why
  std::string conflict;  // not empty: it cannot be committed as it is; why
  friend bool operator==(const Change&, const Change&) = default;
};

enum class ItemKind : uint8_t { kChange, kText, kRefused, kCommit };

// kChange: `change`. kText: `text`. kRefused: change.{directory,path,mark}, `text` says why.
// kCommit: `number`, `time`, `count`.
struct Item {
  ItemKind kind = ItemKind::kChange;
  Change change;
  std::string text;
  uint64_t number = 0;
  int64_t time = 0;  // seconds since 1970
  uint32_t count = 0;
  friend bool operator==(const Item&, const Item&) = default;
};

struct Counts {
  uint32_t added = 0, modified = 0, deleted = 0, renamed = 0, other = 0, marked = 0, conflicts = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

struct End {
  Code code = Code::kOk;
  std::string error;
  std::string digest;  // kList
  Counts counts;       // kList
  bool truncated = false;
  // A commit or undo was cut off, and this cell may not write to the host to take it back: nothing
  // else was done.
  bool unfinished = false;
  uint32_t stale = 0;    // kList: paths for kSettle
  uint64_t commit = 0;   // kCommit: its number; 0: nothing was committed
  uint32_t done = 0;     // kCommit, kUndo, kDiscard: paths; kFork: 1 if it began to copy
  uint32_t commits = 0;  // kUndo
  friend bool operator==(const End&, const End&) = default;
};

std::string Encode(const Setup& setup);
std::string Encode(const Request& request);
// A frame that ends the answer, or does not.
std::string Encode(const Item& item);
std::string Encode(const End& end);
Status Decode(std::string_view bytes, Setup* setup);
Status Decode(std::string_view bytes, Request* request);
// `*ended` says which of the two it was.
Status Decode(std::string_view bytes, bool* ended, Item* item, End* end);

}  // namespace odyssey::review

#endif  // ODYSSEY_SUPERVISOR_WIRE_REVIEW_WIRE_H_
