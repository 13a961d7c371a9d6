#ifndef ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_PLACEHOLDER_H_
#define ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_PLACEHOLDER_H_

// What a cell has in place of a secret: a text that looks like it, and says nothing of it.

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::egress::credentials {

// How a secret looks: its public beginning, then for each character `a`, `A` or `0` for a letter or
// a digit, other characters as they are.
struct Shape {
  std::string prefix;
  std::string classes;
  friend bool operator==(const Shape&, const Shape&) = default;
};

// The beginning is kept where it is that of a kind of tokens ("sk-", "github_pat_", "AKIA") and 16
// characters follow. INVALID_ARGUMENT for a text that has anything but visible ASCII and spaces
// within, which no header takes, or fewer than 8 letters and digits after its beginning: it would
// be found where nothing is meant.
Result<Shape> ShapeOf(std::string_view secret);

// The same for the same arguments, and unpredictable without `cell_key`. The secret's value has no
// part in it: it stays when the secret is rotated.
std::string MakePlaceholder(std::string_view cell_key, std::string_view provider,
                            std::string_view key, const Shape& shape);

}  // namespace odyssey::egress::credentials

#endif  // ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_PLACEHOLDER_H_
