#ifndef ODYSSEY_POLICY_DIALECT_PROJECT_ROOT_H_
#define ODYSSEY_POLICY_DIALECT_PROJECT_ROOT_H_

// The directory of a bundle: nothing that its files name is looked at outside of it.

#include <string>

#include "common/base/status.h"

namespace odyssey::dialect {

enum class Wanted { kAnything, kFile };

class ProjectRoot final {
 public:
  // A directory that does not exist holds nothing.
  explicit ProjectRoot(const std::string& directory);

  const std::string& directory() const { return directory_; }

  // Checks `value` without opening it, in this order: not empty, relative, no "..", exists, stays
  // below the root once its symbolic links are followed, is a regular file if wanted. The error is
  // what follows the place: "readme path does not exist: `x`". The result is `value` without "."
  // and empty components.
  Result<std::string> Check(const std::string& label, const std::string& value,
                            Wanted wanted) const;

  bool Has(const std::string& name) const;

  // The content of a file that passed Check, at most kMaxFileBytes.
  Result<std::string> Read(const std::string& value) const;

 private:
  std::string directory_;
  std::string canonical_;  // "" = does not exist
};

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_PROJECT_ROOT_H_
