#ifndef ODYSSEY_SUPERVISOR_EGRESS_HTTP_PATH_H_
#define ODYSSEY_SUPERVISOR_EGRESS_HTTP_PATH_H_

// The path and query of a request in one spelling: what rules are matched with, and the bytes that
// are forwarded, so that the server reads what was decided.

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "supervisor/egress/http/parsed.h"

namespace odyssey::egress::http {

inline constexpr size_t kMaxPathBytes = 4096;

// What servers read in different ways: dot segments, `//`, `;params`, an encoded dot or semicolon.
enum class Spelling {
  kRefuse,     // 400
  kNormalize,  // resolved; params are removed
  kAsWritten,  // left as it is, in the query too: for what no rule reads. Its text is not decoded
};

struct PathOptions {
  Spelling spelling = Spelling::kRefuse;
  bool allow_encoded_slash = false;  // `%2F` stays as it is, and separates no segments
};

// Decoded once; `+` is a space.
struct QueryPair {
  std::string name;
  std::string value;  // "" without `=`
  friend bool operator==(const QueryPair&, const QueryPair&) = default;
};

struct CanonicalPath {
  // Decoded: UTF-8 without control characters and backslashes. `%2F` is an encoded slash; nothing
  // else in it is encoded.
  std::string path;
  std::string wire;              // the same, as it is forwarded
  std::string query;             // as it was written
  std::vector<QueryPair> pairs;  // in their order, duplicates too
  friend bool operator==(const CanonicalPath&, const CanonicalPath&) = default;
};

// Of RequestHead::path and query. `*` is itself. Refused in every spelling but kAsWritten: `%00`
// and other control characters, `%5C`, what leads above the root, what is encoded twice, no UTF-8,
// an encoded slash beside a dot segment, a `;` in the query, a percent sign without two digits.
std::variant<CanonicalPath, ParseError> CanonicalizePath(std::string_view path,
                                                         std::string_view query,
                                                         const PathOptions& options);

}  // namespace odyssey::egress::http

#endif  // ODYSSEY_SUPERVISOR_EGRESS_HTTP_PATH_H_
