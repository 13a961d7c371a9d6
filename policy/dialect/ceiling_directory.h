#ifndef ODYSSEY_POLICY_DIALECT_CEILING_DIRECTORY_H_
#define ODYSSEY_POLICY_DIALECT_CEILING_DIRECTORY_H_

// The operator's ceiling on this host: the files of a directory, and a uid's name and groups.

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "policy/ceiling/ceiling.h"
#include "policy/dialect/operator_files.h"

namespace odyssey::dialect {

inline constexpr char kCeilingDirectory[] = "/etc/odyssey/policy.d";

// What the files say together; the built-in ceiling if there is no directory. INVALID_ARGUMENT
// names the first problem as "file:line: key: message".
Result<ceiling::Ceiling> ParseCeiling(const std::optional<OperatorFiles>& texts);

// Both.
Result<ceiling::Ceiling> LoadCeiling(const std::string& directory);

// A directory's ceiling, parsed again when its files have another text. Thread-safe.
class CeilingFiles final {
 public:
  struct InForce {
    ceiling::Ceiling ceiling;
    std::string digest;           // of the ceiling
    std::optional<size_t> count;  // of files; nullopt: there is no directory
  };
  using InForcePtr = std::shared_ptr<const InForce>;

  explicit CeilingFiles(std::string directory) : directory_(std::move(directory)) {}

  // Reads the files. Errors of ReadOperatorFiles and ParseCeiling.
  Result<InForcePtr> Get();

  const std::string& directory() const { return directory_; }

 private:
  const std::string directory_;
  std::mutex mutex_;
  // The latest parse: of these texts, this came out. Guarded by mutex_.
  std::optional<OperatorFiles> texts_;
  std::optional<Result<InForcePtr>> parsed_;
};

// As the user database has him; what it does not have stays empty. The home is resolved as far as
// the caller may look.
ceiling::Owner OwnerOf(uid_t uid);

// By name or uid. NOT_FOUND names `option`: there is no such name.
Result<ceiling::Owner> FindOwner(const std::string& option, const std::string& user);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_CEILING_DIRECTORY_H_
