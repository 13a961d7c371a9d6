#ifndef ODYSSEY_POLICY_EGRESS_GRAPHQL_DOCUMENT_H_
#define ODYSSEY_POLICY_EGRESS_GRAPHQL_DOCUMENT_H_

// An executable document of GraphQL (October 2021), as far as decisions need it.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::egress {

inline constexpr int kMaxGraphQlDepth = 64;

struct GraphQlOperation {
  std::string type;                 // query, mutation, subscription
  std::string name;                 // "" if it has none
  std::vector<std::string> fields;  // of its root: aliases and fragments are resolved, none twice
  friend bool operator==(const GraphQlOperation&, const GraphQlOperation&) = default;
};

// INVALID_ARGUMENT for what is no such document: syntax, definitions of types, names that are there
// twice, fragments that are missing, nesting deeper than kMaxGraphQlDepth.
Result<std::vector<GraphQlOperation>> ParseGraphQl(std::string_view document);

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_GRAPHQL_DOCUMENT_H_
