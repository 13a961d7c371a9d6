#ifndef ODYSSEY_HTTP_HEAD_REQUEST_TARGET_H_
#define ODYSSEY_HTTP_HEAD_REQUEST_TARGET_H_

// What a request asks for, from the bytes of its target. Pure.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::head {

inline constexpr size_t kMaxTargetBytes = 8 * 1024;

struct RequestTarget {
  std::vector<std::string> segments;  // of the path, decoded; of "/" none
  std::map<std::string, std::string> query;
  friend bool operator==(const RequestTarget&, const RequestTarget&) = default;
};

// Of "/path?name=value&…". Every part is UTF-8 without control characters once it is decoded; no
// segment is empty, "." or "..", or has a slash in it. A name of the query comes once.
// INVALID_ARGUMENT says what is wrong.
Result<RequestTarget> ParseTarget(std::string_view target);

}  // namespace odyssey::head

#endif  // ODYSSEY_HTTP_HEAD_REQUEST_TARGET_H_
