#ifndef ODYSSEY_SUPERVISOR_EGRESS_HTTP_HEAD_SCANNER_H_
#define ODYSSEY_SUPERVISOR_EGRESS_HTTP_HEAD_SCANNER_H_

// Finds the end of a head in bytes that arrive in pieces, and refuses what no head has as soon as
// it is there: each byte is looked at once, none behind the empty line, and nothing is allocated.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "supervisor/egress/http/field.h"
#include "supervisor/egress/http/parsed.h"

namespace odyssey::egress::http {

inline constexpr size_t kMaxHeadBytes = 65536;
inline constexpr size_t kMaxTargetBytes = 8192;
inline constexpr size_t kMaxFields = 100;
// The longest first line: a target, with a method and a version, or a version, status and reason.
inline constexpr size_t kMaxFirstLineBytes = kMaxTargetBytes + 64;

class HeadScanner final {
 public:
  explicit HeadScanner(ObsText obs_text) : obs_text_(obs_text) {}

  // `bytes` begins with the head and holds at least what the call before had. Returns the bytes of
  // the head with the empty line at its end. After an error or the end, a call returns the same.
  Parsed<size_t> Scan(std::string_view bytes);

 private:
  // Why the byte is none of a head, or null.
  const ParseError* Step(char c);

  ObsText obs_text_;
  bool after_cr_ = false;
  bool ended_ = false;
  const ParseError* error_ = nullptr;
  size_t size_ = 0;        // looked at
  size_t line_bytes_ = 0;  // of the line that is not at its end, without CR
  size_t lines_ = 0;       // at their ends
};

}  // namespace odyssey::egress::http

#endif  // ODYSSEY_SUPERVISOR_EGRESS_HTTP_HEAD_SCANNER_H_
