#ifndef ODYSSEY_COMMON_AUDIT_RECORD_H_
#define ODYSSEY_COMMON_AUDIT_RECORD_H_

// One record of the audit log: what happened, and the line that says so. Pure.
//
//   {"seq":7,"time":"2026-11-22T10:00:00.123Z","type":"exec",…fields…,"prev":"<64 hex>","hash":"<64
//   hex>"}
//
// One line each, ASCII only: everything else is escaped, so that no text of a cell reaches a
// terminal through the file, and no text can end its line. `prev` is the `hash` of the line before;
// `hash` is the sha256 of this line up to its own ,"hash": so every line vouches for all lines
// before it.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::audit {

inline constexpr size_t kMaxText = 4096;       // bytes kept of one value
inline constexpr size_t kMaxTexts = 64;        // values kept of a list
inline constexpr size_t kMaxListBytes = 8192;  // bytes kept of a list
inline constexpr size_t kMaxLine = 4
                                   << 20;  // of a reader: more than what a crash leaves unfinished
inline constexpr size_t kHashDigits = 64;

// What a type may be called: [a-z_], at most 32 characters.
bool IsTypeName(std::string_view type);

// What happened, without its place in the log. What is longer than it may be is cut, and the cut
// says how much is missing: "…[+N bytes]".
class Record final {
 public:
  // `type` is a type name; see docs/policy/denials-and-audit.md for the ones in use.
  explicit Record(std::string_view type);

  // Names of fields are constants of the program: not escaped.
  Record& Text(std::string_view name, std::string_view value);
  Record& Texts(std::string_view name, const std::vector<std::string>& values);
  Record& Number(std::string_view name, int64_t value);
  Record& Flag(std::string_view name, bool value);

  const std::string& type() const { return type_; }
  const std::string& fields() const { return fields_; }
  friend bool operator==(const Record&, const Record&) = default;

 private:
  std::string type_;
  std::string fields_;  // encoded: `,"name":value` each
};

// The last record of a log; by default of one that is empty.
struct Position {
  uint64_t seq = 0;
  std::string hash = std::string(kHashDigits, '0');
  friend bool operator==(const Position&, const Position&) = default;
};

using Time = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

// RFC 3339, UTC, milliseconds: "2026-11-22T10:00:00.123Z".
std::string FormatTime(Time time);

// The line of `record` after `previous`, without its newline; moves `previous` to it.
std::string EncodeLine(const Record& record, Time time, Position* previous);

// The parts of a line that the chain is made of.
struct Line {
  uint64_t seq = 0;
  std::string_view time, type, prev, hash;  // into the line
};

// DATA_LOSS if the line is not of that form; says what is wrong. Does not look at the fields
// between type and prev, which the hash covers.
Result<Line> ParseLine(std::string_view line);

// Is `hash` what the line hashes to. The line is one that ParseLine accepts.
bool HashMatches(std::string_view line);

// The content of the file "head", which says where the log ends: {"seq":7,"hash":"<64 hex>"}.
std::string EncodeHead(const Position& position);
Result<Position> ParseHead(std::string_view text);

// "7:<64 hex>", as people keep it.
Result<Position> ParsePosition(std::string_view text);

}  // namespace odyssey::audit

#endif  // ODYSSEY_COMMON_AUDIT_RECORD_H_
