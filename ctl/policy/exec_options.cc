#include "ctl/policy/exec_options.h"

#include <errno.h>
#include <stdlib.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "ctl/base/image_name.h"
#include "ctl/policy/policy_file.h"
#include "policy/compile/found_executables.h"
#include "policy/egress/reach.h"
#include "policy/model/own_variables.h"
#include "policy/model/policy_keys.h"
#include "policy/model/provider_name.h"
#include "policy/plan/plan_check.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kMaxCellName = 128;  // as CellKey allows

std::optional<std::string> GetEnvironment(const std::string& name) {
  const char* value = getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

Status Named(const std::string& option, const Status& status) {
  return Status(status.code(), option + ": " + status.message());
}

// What is refused later of an entry of a list, a mount say, is the option's.
void NoteEntry(const std::string& list, size_t index, const std::string& option,
               const std::string& written, ExecOptions* out) {
  out->origins.Add(list + "[" + std::to_string(index) + "]",
                   {.key = "--" + option, .written = written});
}

// What the option names, and a note if that is behind a link.
Result<FoundPlace> Resolve(const ExecInputs& inputs, const std::string& option,
                           const std::string& path, ExecOptions* out) {
  Result<FoundPlace> place = inputs.resolve(path);
  if (!place.ok()) return Named("--" + option, place.status());
  std::optional<std::string> note = NoteOfLink("--" + option + " " + path, *place);
  if (note) out->notes.push_back(*std::move(note));
  return place;
}

// What lies in the workspace has its access there too; a directory that is written on a copy has
// one copy, at one place.
Status AddMounts(const ParsedOptions& options, const ExecInputs& inputs, const std::string& name,
                 policy::Access access, ExecOptions* out) {
  policy::SandboxRequest& sandbox = out->sandbox;
  const std::string& workspace = sandbox.workspace;
  const bool read_only = access == policy::Access::kReadOnly;
  for (const std::string& path : options.All(name)) {
    ODY_ASSIGN_OR_RETURN(const FoundPlace place, Resolve(inputs, name, path, out));
    policy::Mount mount = {
        .source = place.name, .target = place.name, .access = access, .identity = place.identity};
    const bool inside =
        !workspace.empty() && place.name != workspace && plan::IsWithin(place.name, workspace);
    if (!inside || read_only || !options.Has("review")) {
      NoteEntry("mounts", sandbox.mounts.size(), name, path, out);
      sandbox.mounts.push_back(mount);
    }
    if (!inside) continue;
    mount.target = plan::kWorkspacePath + place.name.substr(workspace.size());
    mount.executable = read_only && sandbox.executables_mode == policy::ExecutablesMode::kWorkspace;
    NoteEntry("mounts", sandbox.mounts.size(), name, path, out);
    sandbox.mounts.push_back(std::move(mount));
  }
  return OkStatus();
}

Status AddEnvironment(const ParsedOptions& options, const ExecInputs& inputs,
                      policy::SandboxRequest* sandbox) {
  for (const std::string& entry : options.All("env")) {
    const size_t equals = entry.find('=');
    if (equals != std::string::npos) {
      sandbox->env[entry.substr(0, equals)] = entry.substr(equals + 1);
      continue;
    }
    const std::optional<std::string> value = inputs.environment(entry);
    if (!value) {
      return InvalidArgument("--env \"" + entry +
                             "\": there is no such variable here; give it a value: " + entry +
                             "=VALUE");
    }
    sandbox->env[entry] = *value;
  }
  return OkStatus();
}

void SetModes(const ParsedOptions& options, policy::SandboxRequest* sandbox) {
  if (options.Has("mode")) {
    const std::string mode = options.Text("mode");
    sandbox->mode = mode == "read_only"         ? policy::Mode::kReadOnly
                    : mode == "workspace_write" ? policy::Mode::kWorkspaceWrite
                                                : policy::Mode::kDangerFullAccess;
  }
  if (options.Has("network")) {
    const std::string network = options.Text("network");
    sandbox->network = network == "full"     ? policy::Network::kFull
                       : network == "public" ? policy::Network::kEgress
                                             : policy::Network::kNone;
    sandbox->egress = {};
    if (network == "public") sandbox->egress = egress::PublicPolicy("--network public");
  }
  if (options.Has("landlock")) {
    sandbox->landlock = options.Text("landlock") == "best_effort"
                            ? policy::Landlock::kBestEffort
                            : policy::Landlock::kHardRequirement;
  }
}

void SetImage(const ParsedOptions& options, policy::SandboxRequest* sandbox) {
  if (options.Has("image")) sandbox->image = {.reference = options.Text("image")};
  if (options.Has("image-user")) sandbox->image.user = options.Text("image-user");
}

Status AddReach(const ParsedOptions& options, policy::SandboxRequest* sandbox) {
  for (const std::string& place : options.All("reach")) {
    const std::string option = "--reach " + place;
    const Result<egress::Destination> to = egress::ParseReachable(place);
    if (!to.ok()) return Status(to.status().code(), option + ": " + to.status().message());
    if (sandbox->network == policy::Network::kFull) {
      return InvalidArgument(option + ": the network is full, which has no endpoints");
    }
    sandbox->network = policy::Network::kEgress;
    sandbox->egress.rules.push_back(egress::RuleFor(option, to->host, to->port));
  }
  for (const std::string& name : options.All("provider")) {
    if (!policy::IsProviderName(name)) {
      return InvalidArgument("--provider " + name + ": " + policy::kProviderNameRule +
                             " is allowed");
    }
    sandbox->providers.push_back(name);
  }
  return OkStatus();
}

// Another mode than the policy's starts from nothing: what the policy names is of its own mode.
Status SetExecutables(const ParsedOptions& options, const ExecInputs& inputs, ExecOptions* out) {
  using policy::ExecutablesMode;
  policy::SandboxRequest* const sandbox = &out->sandbox;
  const bool says = out->policy && !(inputs.base && !options.Has("policy"));
  out->default_executables = !says && !options.Has("tools");
  if (!out->policy) sandbox->executables_mode = ExecutablesMode::kWorkspace;
  if (options.Has("tools")) {
    const std::string tools = options.Text("tools");
    const ExecutablesMode mode = tools == "explicit"    ? ExecutablesMode::kExplicit
                                 : tools == "all"       ? ExecutablesMode::kAll
                                 : tools == "workspace" ? ExecutablesMode::kWorkspace
                                                        : ExecutablesMode::kStandard;
    if (std::exchange(sandbox->executables_mode, mode) != mode) sandbox->executables.clear();
  }
  const bool named = sandbox->executables_mode == ExecutablesMode::kExplicit;
  for (const std::string& tool : options.All("tool")) {
    if (!named) return InvalidArgument("--tool " + tool + ": allowed only with --tools explicit");
    const bool is_path = tool.find('/') != std::string::npos;
    // What the host has at this path is another file.
    const bool of_image = !sandbox->image.reference.empty() && compile::IsInSystemTree(tool);
    std::string found = tool;
    if (is_path && !of_image) {
      ODY_ASSIGN_OR_RETURN(FoundPlace place, Resolve(inputs, "tool", tool, out));
      found = std::move(place.name);
    }
    NoteEntry("executables", sandbox->executables.size(), "tool", tool, out);
    sandbox->executables.push_back(std::move(found));
  }
  return OkStatus();
}

// The limits that have an option.
std::vector<const policy::LimitKey*> LimitsWithOption() {
  std::vector<const policy::LimitKey*> keys;
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    if (key.option.name != policy::kNone) keys.push_back(&key);
  }
  return keys;
}

ValueKind KindOf(policy::Format format) {
  switch (format) {
    case policy::Format::kSize:
      return ValueKind::kSize;
    case policy::Format::kCores:
      return ValueKind::kCpus;
    case policy::Format::kDuration:
      return ValueKind::kDuration;
    case policy::Format::kWhole:
      break;
  }
  return ValueKind::kNumber;
}

// In the units of the field.
uint64_t LimitOf(const ParsedOptions& options, const policy::OptionSpelling& option) {
  switch (option.format) {
    case policy::Format::kSize:
      return options.Size(option.name);
    case policy::Format::kCores:
      return options.CpuMillis(option.name);
    case policy::Format::kDuration:
      return options.DurationMs(option.name);
    case policy::Format::kWhole:
      break;
  }
  return options.Number(option.name);
}

Status CheckCellName(const std::string& name) {
  bool good = name.size() <= kMaxCellName;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    good = good && (letter || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-');
  }
  if (good) return OkStatus();
  return InvalidArgument("--cell \"" + name +
                         "\": expected 1 to 128 letters, digits, dots, dashes and underscores");
}

Status SetWorkspace(const ParsedOptions& options, const ExecInputs& inputs, ExecOptions* out) {
  if (!options.Has("workspace")) return OkStatus();
  ODY_ASSIGN_OR_RETURN(FoundPlace place,
                       Resolve(inputs, "workspace", options.Text("workspace"), out));
  out->sandbox.workspace = std::move(place.name);
  out->sandbox.workspace_identity = place.identity;
  return OkStatus();
}

// What the command sees and may do.
std::vector<OptionSpec> AccessOptionSpecs() {
  return {
      {.name = "policy",
       .kind = ValueKind::kFile,
       .value_name = "FILE",
       .help =
           "a policy of any kind (see policy check), or a bundle; the options below change what it "
           "says"},
      {.name = "mode",
       .kind = ValueKind::kChoice,
       .value_name = "MODE",
       .help = "read_only, workspace_write (default) or danger_full_access",
       .choices = {"read_only", "workspace_write", "danger_full_access"}},
      {.name = "dangerous-sandbox-mode",
       .help = "danger_full_access is meant: UNCONFINED on the host, as --owner"},
      {.name = "owner",
       .kind = ValueKind::kText,
       .value_name = "USER",
       .help = "the user whose rights apply, a name or a uid (default: your own)"},
      {.name = "workspace",
       .kind = ValueKind::kDirectory,
       .value_name = "DIR",
       .help =
           "this directory is /workspace in the cell (default: a private one that ends with it)"},
      {.name = "cwd",
       .kind = ValueKind::kText,
       .value_name = "PATH",
       .help = "directory in the cell to start in (default /workspace)"},
      {.name = "read",
       .kind = ValueKind::kFile,
       .value_name = "PATH",
       .help =
           "visible at the same path in the cell, and at its place in the workspace, read-only; "
           "may lie in one of --write, and the other way round",
       .repeatable = true},
      {.name = "write",
       .kind = ValueKind::kFile,
       .value_name = "PATH",
       .help = "visible at the same path in the cell, and at its place in the workspace, writable",
       .repeatable = true},
      {.name = "review",
       .help = "directories are written on a copy; commit puts into them what you like of it"},
      {.name = "tools",
       .kind = ValueKind::kChoice,
       .value_name = "WHICH",
       .help =
           "what may execute: explicit (each --tool), standard (the system's programs), workspace "
           "(those and the workspace's files; default where the ceiling grants it, else standard; "
           "with --policy what that says), or all that is visible",
       .choices = {"explicit", "standard", "workspace", "all"}},
      {.name = "tool",
       .kind = ValueKind::kText,
       .value_name = "NAME",
       .help = "a program, by name or path, with all it loads; with --tools explicit",
       .repeatable = true},
      {.name = "image",
       .kind = ValueKind::kText,
       .value_name = "NAME",
       .help =
           "the root directory is this image (`odyssey-ctl image list`), not the host's programs"},
      PullOption(),
      {.name = "image-user",
       .kind = ValueKind::kText,
       .value_name = "USER[:GROUP]",
       .help = "of the image, by name or number; default: the image's own"},
      {.name = "network",
       .kind = ValueKind::kChoice,
       .value_name = "WHICH",
       .help =
           "none (default), public: what is public, through odyssey-egress, or full: the host's",
       .choices = {"none", "public", "full"}},
      {.name = "reach",
       .kind = ValueKind::kText,
       .value_name = "HOST:PORT",
       .help =
           "let every program connect there, through odyssey-egress, beside what the policy allows",
       .repeatable = true},
      {.name = "provider",
       .kind = ValueKind::kText,
       .value_name = "NAME",
       .help = "use the credentials of this provider (`odyssey-ctl provider`)",
       .repeatable = true},
      {.name = "landlock",
       .kind = ValueKind::kChoice,
       .value_name = "HOW",
       .help =
           "hard_requirement (default); with best_effort a cell runs without what this kernel's "
           "Landlock lacks, as --network full before Linux 6.12",
       .choices = {"hard_requirement", "best_effort"}},
      {.name = "env",
       .kind = ValueKind::kEnv,
       .value_name = "NAME[=VALUE]",
       .help = "a variable of the command; without a value, the one here",
       .repeatable = true},
  };
}

// As odek has them, over its files and variables.
std::vector<OptionSpec> OdekOptionSpecs() {
  const auto text = [](std::string_view name, std::string_view value, std::string_view help) {
    return OptionSpec{.name = name, .kind = ValueKind::kText, .value_name = value, .help = help};
  };
  return {
      text("sandbox-image", "NAME", "odek's, over sandbox_image of its files"),
      text("sandbox-network", "WHICH", "odek's: none or bridge"),
      {.name = "sandbox-readonly", .help = "odek's: the workspace is read-only"},
      text("sandbox-memory", "SIZE", "odek's, such as 512m"),
      text("sandbox-cpus", "N", "odek's, such as 0.5"),
      text("sandbox-user", "USER[:GROUP]", "odek's"),
  };
}

// In which cell, and what comes with the command.
std::vector<OptionSpec> CellOptionSpecs() {
  return {
      {.name = "cell",
       .kind = ValueKind::kText,
       .value_name = "NAME",
       .help = "keep the cell warm under this name, or use the one that is"},
      {.name = "inject",
       .kind = ValueKind::kFile,
       .value_name = "FILE",
       .help = "a copy of it is in $ODYSSEY_RUN/inbox: sub/f as sub/f; of a path that is absolute "
               "or has .. the last component",
       .repeatable = true},
      {.name = "collect",
       .kind = ValueKind::kDirectory,
       .value_name = "DIR",
       .help = "what the command leaves in $ODYSSEY_RUN/outbox is copied there"},
      {.name = "tty", .help = "give the command a terminal"},
      DenialsOption(),
      {.name = "explain", .help = "print the compiled plan; run nothing"},
  };
}

// What an option says is not the file's any more, and what is refused of it is the option's.
void NoteOption(const ParsedOptions& options, std::string_view option, const std::string& field,
                dialect::Origins* origins) {
  if (!options.Has(option)) return;
  origins->Forget(field);
  origins->Add(field, {.key = "--" + std::string(option), .written = options.Text(option)});
}

void NoteOptions(const ParsedOptions& options, dialect::Origins* origins) {
  static constexpr std::pair<const char*, const char*> kFields[] = {
      {"mode", "mode"},         {"network", "network"},        {"landlock", "landlock"},
      {"tools", "executables"}, {"tools", "executables_mode"}, {"workspace", "workspace"},
      {"image", "image"},       {"image-user", "image.user"}};
  for (const auto& [option, field] : kFields) NoteOption(options, option, field, origins);
  for (const policy::LimitKey* key : LimitsWithOption()) {
    const bool asked = key->option.carrier == policy::Carrier::kLimits;
    const std::string field = (asked ? "limits." : "start.") + std::string(key->name);
    NoteOption(options, key->option.name, field, origins);
  }
  for (const std::string& entry : options.All("env")) {
    const std::string name = entry.substr(0, entry.find('='));  // a value may be a secret
    origins->Add("env." + name, {.key = "--env", .written = name});
  }
}

// What a person names in an option is the person's own to give.
void ForgetSecretsOfOptions(const ParsedOptions& options,
                            std::vector<dialect::SecretVariable>* secrets) {
  std::set<std::string> named;
  for (const std::string& entry : options.All("env")) {
    named.insert(entry.substr(0, entry.find('=')));
  }
  secrets->erase(std::remove_if(secrets->begin(), secrets->end(),
                                [&](const dialect::SecretVariable& secret) {
                                  return named.count(secret.source) != 0;
                                }),
                 secrets->end());
}

constexpr std::string_view kOdekFlags[] = {"sandbox-image",  "sandbox-network", "sandbox-readonly",
                                           "sandbox-memory", "sandbox-cpus",    "sandbox-user"};

// odek's flags, by the keys of its configuration.
std::map<std::string, std::string> ReadOdekFlags(const ParsedOptions& options) {
  std::map<std::string, std::string> flags;
  for (const std::string_view flag : kOdekFlags) {
    if (!options.Has(flag)) continue;
    std::string key(flag);
    std::replace(key.begin(), key.end(), '-', '_');
    flags[key] = flag == "sandbox-readonly" ? "true" : options.Text(flag);
  }
  return flags;
}

Status CheckOdekFlags(const ParsedOptions& options, const std::optional<dialect::Policy>& policy) {
  for (const std::string_view flag : kOdekFlags) {
    if (!options.Has(flag) || (policy && policy->dialect == dialect::Dialect::kOdek)) continue;
    return InvalidArgument("--" + std::string(flag) +
                           ": only with --policy and a configuration of odek's");
  }
  return OkStatus();
}

// `policy_name` is where the file was found.
Status ReadPolicyOption(const ParsedOptions& options, const ExecInputs& inputs,
                        std::map<std::string, std::string> odek_flags, std::string* policy_name,
                        ExecOptions* out) {
  if (!options.Has("policy")) {
    if (!inputs.base) return OkStatus();
    out->policy = inputs.base->policy;
    *policy_name = inputs.base->file;
    out->sandbox = out->policy->request;
    out->origins = out->policy->origins;
    return OkStatus();
  }
  ODY_ASSIGN_OR_RETURN(const FoundPlace cwd, inputs.resolve("."));
  dialect::PolicyContext context = MakePolicyContext(cwd.name, inputs.environment, inputs.places);
  out->policy_file = options.Text("policy");
  context.judges_secrets = true;  // the supervisor is asked
  context.odek_flags = std::move(odek_flags);
  if (inputs.home) context.home = *inputs.home;
  dialect::Problems problems;
  Result<dialect::Policy> policy =
      ReadPolicy(options.Text("policy"), context, &problems, policy_name);
  if (!policy.ok()) return Named("--policy", policy.status());
  out->policy = std::move(*policy);
  out->sandbox = out->policy->request;
  out->origins = out->policy->origins;
  return OkStatus();
}

// Read-only and executable in every mode; in the workspace too, if it holds them.
Status AddPrograms(const ExecInputs& inputs, ExecOptions* out) {
  if (!inputs.base) return OkStatus();
  const std::string& workspace = out->sandbox.workspace;
  for (const std::string& path : inputs.base->programs) {
    ODY_ASSIGN_OR_RETURN(const FoundPlace place, Resolve(inputs, "program", path, out));
    policy::Mount mount = {.source = place.name,
                           .target = place.name,
                           .access = policy::Access::kReadOnly,
                           .executable = true,
                           .identity = place.identity};
    NoteEntry("mounts", out->sandbox.mounts.size(), "program", path, out);
    out->sandbox.mounts.push_back(mount);
    if (workspace.empty() || place.name == workspace || !plan::IsWithin(place.name, workspace)) {
      continue;
    }
    mount.target = plan::kWorkspacePath + place.name.substr(workspace.size());
    NoteEntry("mounts", out->sandbox.mounts.size(), "program", path, out);
    out->sandbox.mounts.push_back(std::move(mount));
  }
  return OkStatus();
}

// What the next run would obey is not the cell's to write: the policy, and what was read with it.
void ProtectPolicy(const std::string& policy_name, ExecOptions* out) {
  if (!out->policy) return;
  std::vector<std::string> files = out->policy->also_read;  // variables among them
  if (!policy_name.empty()) files.push_back(policy_name);
  policy::SandboxRequest& sandbox = out->sandbox;
  std::vector<std::string> trees;
  if (sandbox.mode == policy::Mode::kWorkspaceWrite) trees.push_back(sandbox.workspace);
  for (const policy::Mount& mount : sandbox.mounts) {
    if (mount.access == policy::Access::kReadWrite) trees.push_back(mount.source);
  }
  std::vector<std::string>& protect = sandbox.protect;
  for (const std::string& file : files) {
    for (const std::string& tree : trees) {
      if (tree.empty() || file == tree || !plan::IsWithin(file, tree)) continue;
      const std::string name = file.substr(tree.size() + 1);
      if (std::count(protect.begin(), protect.end(), name) == 0) protect.push_back(name);
    }
  }
}

// Before anything names it in a message. Of a policy the place, of an option that.
Status CheckImage(const ExecOptions& options) {
  const Status status = CheckImageName(options.sandbox.image.reference);
  if (status.ok()) return status;
  const dialect::Place* const place = PlaceOfImage(options);
  if (place == nullptr) return Named("image", status);
  if (place->file.empty()) return InvalidArgument(place->key + " " + status.message());
  return InvalidArgument(dialect::ToString(
      {.file = place->file, .line = place->line, .key = place->key, .message = status.message()}));
}

}  // namespace

ExecInputs MakeExecInputs() {
  ExecInputs inputs{.resolve = {},
                    .environment = GetEnvironment,
                    .places = std::make_shared<NamedPlaces>(),
                    .home = {},
                    .owner_uid = {},
                    .base = {}};
  inputs.resolve = [places = inputs.places](const std::string& path) -> Result<FoundPlace> {
    const Walk& walk = places->Look(path, Links::kBelow);
    ODY_RETURN_IF_ERROR(walk.status);
    return FoundPlace{walk.name, walk.place->identity(), walk.followed, walk.place->is_directory()};
  };
  return inputs;
}

std::optional<std::string> NoteOfLink(const std::string& option, const FoundPlace& place) {
  if (place.followed.empty()) return std::nullopt;
  return option + ": " + place.followed + " is a symbolic link: " + place.name + " is used";
}

std::vector<OptionSpec> LimitOptionSpecs() {
  std::vector<OptionSpec> specs;
  for (const policy::LimitKey* key : LimitsWithOption()) {
    OptionSpec spec = {.name = key->option.name,
                       .kind = KindOf(key->option.format),
                       .value_name = key->option.value_name,
                       .help = key->option.help};
    if (spec.kind == ValueKind::kNumber) {
      spec.min = key->least;
      spec.max = key->most;
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

void SetLimitsOf(const ParsedOptions& options, policy::SandboxRequest* sandbox) {
  for (const policy::LimitKey* key : LimitsWithOption()) {
    const bool asked = key->option.carrier == policy::Carrier::kLimits;
    if (!asked || !options.Has(key->option.name)) continue;
    key->set(&sandbox->limits, LimitOf(options, key->option));
    key->set(&sandbox->unsaid_limits, 0);
  }
}

std::vector<OptionSpec> ExecOptionSpecs() {
  std::vector<OptionSpec> specs = AccessOptionSpecs();
  for (OptionSpec& spec : LimitOptionSpecs()) specs.push_back(std::move(spec));
  for (OptionSpec& spec : OdekOptionSpecs()) specs.push_back(std::move(spec));
  for (OptionSpec& spec : CellOptionSpecs()) specs.push_back(std::move(spec));
  return specs;
}

Result<ExecOptions> ReadExecOptions(const ParsedOptions& options, const ExecInputs& inputs) {
  ExecOptions out;
  std::string policy_name;
  ODY_RETURN_IF_ERROR(
      ReadPolicyOption(options, inputs, ReadOdekFlags(options), &policy_name, &out));
  ODY_RETURN_IF_ERROR(CheckOdekFlags(options, out.policy));
  if (out.policy) ForgetSecretsOfOptions(options, &out.policy->secrets);
  NoteOptions(options, &out.origins);
  SetModes(options, &out.sandbox);
  SetImage(options, &out.sandbox);
  ODY_RETURN_IF_ERROR(CheckImage(out));
  out.pull = ReadPullOption(options);
  ODY_RETURN_IF_ERROR(AddReach(options, &out.sandbox));
  ODY_RETURN_IF_ERROR(SetExecutables(options, inputs, &out));
  SetLimitsOf(options, &out.sandbox);
  ODY_RETURN_IF_ERROR(SetWorkspace(options, inputs, &out));
  ODY_RETURN_IF_ERROR(AddPrograms(inputs, &out));
  ODY_RETURN_IF_ERROR(AddMounts(options, inputs, "read", policy::Access::kReadOnly, &out));
  ODY_RETURN_IF_ERROR(AddMounts(options, inputs, "write", policy::Access::kReadWrite, &out));
  if (options.Has("review")) {
    if (policy::IsDanger(out.sandbox)) {
      return InvalidArgument("--review: commands of danger_full_access write to the host itself");
    }
    policy::ReviewAllWrites(&out.sandbox);
  }
  ODY_RETURN_IF_ERROR(AddEnvironment(options, inputs, &out.sandbox));
  ProtectPolicy(policy_name, &out);

  out.cell = options.Text("cell");
  ODY_RETURN_IF_ERROR(CheckCellName(out.cell));
  out.reviewed = policy::HasReviewedWrites(out.sandbox);
  if (options.Has("review") && !out.reviewed) {
    return InvalidArgument(
        "--review: no directory of the host is written to; --workspace or --write names one");
  }
  // Changes that wait for a commit outlive the command.
  out.sandbox.ephemeral = out.cell.empty() && !out.reviewed;
  out.argv = options.words();
  out.cwd = options.Text("cwd");
  out.timeout_ms = options.DurationMs("timeout");
  out.terminal = options.Has("tty");
  out.allow_danger = options.Has("dangerous-sandbox-mode");
  if (out.allow_danger && out.sandbox.mode != policy::Mode::kDangerFullAccess) {
    return InvalidArgument("--dangerous-sandbox-mode: only with --mode danger_full_access");
  }
  out.owner_uid = inputs.owner_uid;
  out.inject = options.All("inject");
  out.collect = options.Text("collect");
  out.denials = ReadDenialsOption(options);
  out.explain = options.Has("explain");
  policy::InheritVariables(inputs.environment, &out.sandbox.env);
  return out;
}

const dialect::Place* PlaceOfImage(const ExecOptions& options) {
  const dialect::Place* const place = options.origins.Find("image.reference");
  return place != nullptr ? place : options.origins.Find("image");
}

Result<ExecOptions> ReadPolicyAlone(const ParsedOptions& options, const ExecInputs& inputs) {
  ODY_CHECK(options.Has("policy"));
  ExecOptions out;
  std::string policy_name;
  ODY_RETURN_IF_ERROR(ReadPolicyOption(options, inputs, {}, &policy_name, &out));
  ODY_RETURN_IF_ERROR(CheckImage(out));
  out.pull = ReadPullOption(options);
  ProtectPolicy(policy_name, &out);
  policy::InheritVariables(inputs.environment, &out.sandbox.env);
  return out;
}

}  // namespace odyssey::ctl
