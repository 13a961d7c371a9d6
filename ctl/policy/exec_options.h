#ifndef ODYSSEY_CTL_POLICY_EXEC_OPTIONS_H_
#define ODYSSEY_CTL_POLICY_EXEC_OPTIONS_H_

// The options of `exec` as a request. Looks at the file system and the environment only through its
// inputs.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/base/option_parser.h"
#include "ctl/base/pull_option.h"
#include "ctl/file/named_place.h"
#include "ctl/view/denial_line.h"
#include "policy/dialect/policy.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

// What a walk found, as a value.
struct FoundPlace {
  std::string name;  // absolute, without symbolic links
  policy::FileIdentity identity;
  std::string followed;  // a link on the way that is not the system's; "" if there was none
  bool is_directory = false;
};

// A file that the command finds below its home.
struct HomeFile {
  std::string path;  // relative
  std::string text;
  bool keep = false;  // one that is there stays
  friend bool operator==(const HomeFile&, const HomeFile&) = default;
};

// What a command that runs a program of its own asks for beside the options.
struct ExecBase {
  dialect::Policy policy;             // unless --policy replaces it
  std::string file;                   // where that was read
  std::vector<std::string> programs;  // files and directories of the host, to execute
};

struct ExecInputs {
  // By Links::kBelow (named_place.h). NOT_FOUND and the like name the path, FAILED_PRECONDITION a
  // link that is not followed.
  std::function<Result<FoundPlace>(const std::string&)> resolve;
  std::function<std::optional<std::string>(const std::string& name)> environment;
  // What keeps open what `resolve` found, and what a policy names.
  std::shared_ptr<NamedPlaces> places;
  // What "~" is to a policy, if it is not $HOME.
  std::optional<std::string> home;
  // On whose behalf, if it is said.
  std::optional<uint32_t> owner_uid;
  std::optional<ExecBase> base;
};

ExecInputs MakeExecInputs();

struct ExecOptions {
  policy::SandboxRequest sandbox;
  PullWhen pull = PullWhen::kMissing;  // of `sandbox`'s image, and of those that it is built of
  std::string cell;                    // "": one for this command alone
  bool reviewed = false;               // directories are written on a copy
  // The files of the workspace execute because no option and no policy says otherwise.
  bool default_executables = false;
  std::vector<std::string> argv;
  std::string cwd;
  uint32_t timeout_ms = 0;
  bool terminal = false;
  bool explain = false;
  bool allow_danger = false;
  std::optional<uint32_t> owner_uid;  // nothing: our own uid
  std::vector<std::string> inject;    // files for the run's inbox
  std::string collect;                // where the run's outbox goes; "": nowhere
  ShowDenials denials = ShowDenials::kNever;
  std::optional<dialect::Policy> policy;  // of --policy; `sandbox` began as its request
  std::string policy_file;                // as --policy names it
  dialect::Origins origins;               // of what is in `sandbox`: the policy's and the options
  std::vector<std::string> notes;         // of links that were followed
  std::string verb = "exec";              // what the person typed
  std::vector<HomeFile> files;            // written before the command begins
};

// "LINK is a symbolic link: NAME is used", if a link was followed on the way to what `option`
// named.
std::optional<std::string> NoteOfLink(const std::string& option, const FoundPlace& place);

// For `exec`: with these the request is made.
std::vector<OptionSpec> ExecOptionSpecs();

// Of `exec`, and of what else runs commands: those of limits, and what they ask for.
std::vector<OptionSpec> LimitOptionSpecs();
void SetLimitsOf(const ParsedOptions& options, policy::SandboxRequest* sandbox);

// Every error names the option, the value and what is allowed.
Result<ExecOptions> ReadExecOptions(const ParsedOptions& options, const ExecInputs& inputs);

// Where the image is named; nullptr: not known.
const dialect::Place* PlaceOfImage(const ExecOptions& options);

// The same of --policy alone, beside --pull. It must be given.
Result<ExecOptions> ReadPolicyAlone(const ParsedOptions& options, const ExecInputs& inputs);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_EXEC_OPTIONS_H_
