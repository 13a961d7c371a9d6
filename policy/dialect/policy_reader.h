#ifndef ODYSSEY_POLICY_DIALECT_POLICY_READER_H_
#define ODYSSEY_POLICY_DIALECT_POLICY_READER_H_

// A policy file of any dialect → the request. The one entry for every command that takes a file.

#include <optional>
#include <string>
#include <string_view>

#include "policy/dialect/bundle.h"
#include "policy/dialect/node.h"
#include "policy/dialect/policy.h"

namespace odyssey::dialect {

// Of any dialect; most take less (kMaxDocumentBytes).
inline constexpr size_t kMaxPolicyBytes = 5 * 1024 * 1024;

// `path` names the file in problems, decides JSON5 or YAML if it ends in .json, .json5, .yaml or
// .yml (else the first character does), and tells where relative paths begin. Which dialect it is
// only the content says; for an empty odek.json its name. A manifest and an agent are read with the
// bundle that they belong to. Nothing is returned beside a problem. Sources of mounts and the
// workspace are free of symbolic links.
std::optional<Policy> ReadPolicy(std::string_view text, const std::string& path,
                                 const PolicyContext& context, Problems* problems);

// A policy of Odyssey's own dialect that stands in another file, with its key there. Problems are
// added.
std::optional<Policy> ReadPolicyPart(const Node& part, const std::string& key,
                                     const std::string& path, const PolicyContext& context,
                                     Problems* problems);

// The same for the bundle in a directory.
std::optional<Policy> ReadBundlePolicy(const std::string& directory, const PolicyContext& context,
                                       Problems* problems);

// The agent in a file that is an agent's and part of no bundle; its rules hold wherever it is used.
// nullopt: another file, or, with `problems`, one that cannot be read as an agent's.
std::optional<AgentSpec> ReadAgentAlone(std::string_view text, const std::string& path,
                                        const DirectoryOpener& open, Problems* problems);

// The directory of the bundle that a manifest or an agent's file is part of; nullopt if `path`
// names neither. Looks at names only, and for an agent's file at the two directories above it.
std::optional<std::string> BundleOf(const std::string& path, const DirectoryOpener& open = nullptr);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_POLICY_READER_H_
