#ifndef ODYSSEY_POLICY_DIALECT_OPERATOR_FILES_H_
#define ODYSSEY_POLICY_DIALECT_OPERATOR_FILES_H_

// The files that the operator writes, in /etc/odyssey. A directory or file must be root's or the
// caller's own and writable by its owner only, a file regular and no link: FAILED_PRECONDITION
// names the one that is not.

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::dialect {

struct OperatorFile {
  std::string file;  // its path
  std::string text;  // at most kMaxDocumentBytes
  friend bool operator==(const OperatorFile&, const OperatorFile&) = default;
};
using OperatorFiles = std::vector<OperatorFile>;

// The *.yaml files of `directory` in the order of their names; other names are left alone, but
// *.yml is refused. nullopt: there is no such directory.
Result<std::optional<OperatorFiles>> ReadOperatorFiles(const std::string& directory);

// nullopt: there is no such file.
Result<std::optional<OperatorFile>> ReadOperatorFile(const std::string& path);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_OPERATOR_FILES_H_
