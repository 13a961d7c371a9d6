#ifndef ODYSSEY_POLICY_DIALECT_POLICY_H_
#define ODYSSEY_POLICY_DIALECT_POLICY_H_

// What a policy file of any dialect becomes, and what its reader knows of the host.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "policy/dialect/llm_do_worker.h"
#include "policy/dialect/origin.h"
#include "policy/dialect/problem.h"
#include "policy/dialect/project_root.h"
#include "policy/model/request.h"

namespace odyssey::dialect {

enum class Dialect { kOdyssey, kManifest, kBundle, kLlmDo, kOdek, kOpenShell };

// "openshell", …: for people and for -o json.
std::string_view DialectName(Dialect dialect);
// Which alone has agents, and rules of tools.
inline bool IsBundle(Dialect dialect) {
  return dialect == Dialect::kManifest || dialect == Dialect::kBundle;
}

struct PathFacts {
  bool exists = false;
  bool is_link = false;  // the path itself, whatever it leads to
  // Without symbolic links; what does not exist is appended as it is.
  std::string resolved;
  policy::FileIdentity identity;  // of what exists, if it is known
  // The first link on the way that a command in a cell could have made; "" if there is none.
  std::string planted_link;
};

// Why a planted link is not followed, and what to name instead.
std::string RefusalOfLink(const std::string& link, const std::string& resolved);

// The host as the client sees it. Where a function is not set there are no variables and no files
// to read, and every path exists and is no link.
struct PolicyContext {
  std::string client_cwd;  // absolute, without symbolic links; may be empty
  std::string home;        // what "~" means; may be empty
  // Where a session would have its copy of a bundle, which need not exist: a bundle is then read as
  // a session has it. Empty: as `exec` has it, from its own directory.
  std::string bundle_copy;
  // Variables that may enter a cell though their names look like secrets'.
  std::set<std::string> granted_env;
  // The caller judges Policy::secrets: the reader refuses none of them.
  bool judges_secrets = false;
  std::function<std::optional<std::string>(const std::string& name)> environment;
  // What odek's flags say, by key: "sandbox_image" of `--sandbox-image`.
  std::map<std::string, std::string> odek_flags;
  std::function<PathFacts(const std::string& path)> look;            // `path` is absolute
  std::function<Result<std::string>(const std::string& path)> read;  // NOT_FOUND: no such file
  DirectoryOpener open;  // the directory of a bundle; not set: by its name

  // Whether a variable of the client's may be taken, as far as its name tells.
  bool MayTake(const std::string& name) const;
  std::optional<std::string> Variable(const std::string& name) const;
  PathFacts Look(const std::string& path) const;
  Result<std::string> Read(const std::string& path) const;
};

// A file that a project brings, read over what its user has said himself.
struct ProjectFile {
  std::string directory;           // the project's
  policy::SandboxRequest without;  // what the request is without the file
  std::string digest;              // of the file's bytes
};

// Something that a session does only after a person has said so.
struct Approval {
  std::string agent;               // its id
  std::string rule;                // "Bash(find:*)"; "": see `why`
  std::vector<std::string> tools;  // at least one
  std::string why;                 // without a rule: which calls, and why they
  Place place;                     // of the rule; no line: not known
};

// A variable of the client's that looks like a secret, and its name in the cell.
struct SecretVariable {
  std::string target;
  std::string source;
};

struct Policy {
  Dialect dialect = Dialect::kOdyssey;
  policy::SandboxRequest request;
  Origins origins;  // of the request's fields
  // Of the file: what is dropped, deprecated or means less here than where it comes from.
  Problems warnings;
  // What the file says that no cell enforces, a line each: approvals, attachments, endpoints.
  std::vector<std::string> elsewhere;
  // Those that the file takes, whether or not the client has them.
  std::vector<SecretVariable> secrets;
  // Of a bundle's agents, or of the one whose file was read.
  std::vector<Approval> approvals;
  // What was read beside the file: other files, variables of the environment.
  std::vector<std::string> also_read;
  // Host directories of the request that are to be made if they are missing: by the rights of whom
  // the cell is for, and if it is granted.
  std::vector<std::string> create;
  std::string bundle_copy;               // the context's, of a bundle
  std::optional<llm_do::Worker> worker;  // of llm-do
  std::optional<ProjectFile> project;    // of odek, unless the file is the user's own
};

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_POLICY_H_
