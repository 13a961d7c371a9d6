#ifndef ODYSSEY_POLICY_DIALECT_PROJECT_ROOT_H_
#define ODYSSEY_POLICY_DIALECT_PROJECT_ROOT_H_

// The directory of a bundle: nothing that its files name is looked at outside of it.

#include <functional>
#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::dialect {

enum class Wanted { kAnything, kFile };

// Opens a directory, O_PATH or for reading, as the client named it.
using DirectoryOpener = std::function<Result<UniqueFd>(const std::string& directory)>;

class ProjectRoot final {
 public:
  // Opened once, by its name if `open` is not set. A directory that cannot be opened holds nothing.
  explicit ProjectRoot(const std::string& directory, const DirectoryOpener& open = nullptr);

  const std::string& directory() const { return directory_; }
  // A path of the opened directory, whatever its name leads to, as long as this object lives.
  std::string OpenedPath() const;

  // Checks `value` without opening it, in this order: not empty, relative, no "..", exists, has no
  // symbolic link on its way that leads out of the root or is absolute, is a regular file if
  // wanted. The error is what follows the place: "readme path does not exist: `x`". The result is
  // `value` without "." and empty components.
  Result<std::string> Check(const std::string& label, const std::string& value,
                            Wanted wanted) const;

  bool Has(const std::string& name) const;

  // The content of a file that passed Check, at most kMaxFileBytes.
  Result<std::string> Read(const std::string& value) const;

 private:
  std::string directory_;
  UniqueFd root_;  // none: does not exist
};

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_PROJECT_ROOT_H_
