#include "policy/dialect/sandbox_section.h"

#include <algorithm>
#include <cctype>

#include "common/base/control.h"
#include "policy/dialect/openshell_budget.h"
#include "policy/dialect/openshell_rules.h"
#include "policy/dialect/path_text.h"
#include "policy/model/own_variables.h"
#include "policy/model/policy_keys.h"
#include "policy/model/provider_name.h"
#include "policy/pattern/path_pattern.h"

namespace odyssey::dialect {
namespace {

// Beyond these a number is a mistake, not a wish.
constexpr uint64_t kMaxUser = 4294967294;

// "." for a path of "." components only, an absolute path without "." and empty components, or "".
std::string NormalizedMount(const std::string& value) {
  if (value.empty() || HasParent(value)) return "";
  std::string clean = CleanPath(value);
  return clean == "." || clean[0] == '/' ? clean : "";
}

// The values, with their places as field[0], ….
std::vector<std::string> Noted(const MapReader& map, const std::vector<Text>& texts,
                               const std::string& field, Origins* origins) {
  std::vector<std::string> values;
  for (const Text& text : texts) {
    origins->Add(field + "[" + std::to_string(values.size()) + "]", PlaceOf(map.source(), text));
    values.push_back(text.value);
  }
  return values;
}

std::vector<Text> ReadMounts(MapReader* mounts, const std::string& name) {
  std::vector<Text> paths;
  for (const Text& text : mounts->Strings(name)) {
    const std::string path = NormalizedMount(text.value);
    if (path.empty()) {
      mounts->source().Invalid(
          text.line, text.key,
          name + " mount must be an absolute host path or `.`, without `..`: `" + text.value + "`");
    } else if (HasControl(path)) {
      mounts->source().Invalid(
          text.line, text.key,
          name + " mount must not hold a control character: `" + text.value + "`");
    } else if (path.find_first_of("*?[") != std::string::npos) {
      mounts->source().Invalid(text.line, text.key,
                               "glob patterns are not supported in sandbox paths: " + text.value);
    } else if (std::none_of(paths.begin(), paths.end(),
                            [&](const Text& other) { return other.value == path; })) {
      paths.push_back({path, text.line, text.key});
    }
  }
  return paths;
}

std::vector<Text> ReadExec(MapReader* filesystem, const ProjectRoot* root) {
  std::vector<Text> paths;
  for (const Text& text : filesystem->Strings("exec")) {
    if (root == nullptr) {
      filesystem->source().Invalid(
          text.line, text.key,
          "only a bundle has files of its own to execute: `" + text.value + "`");
      continue;
    }
    Result<std::string> path = root->Check("sandbox exec path", text.value, Wanted::kAnything);
    if (!path.ok()) {
      filesystem->source().Invalid(text.line, text.key, path.status().message());
    } else {
      paths.push_back({std::move(path).value(), text.line, text.key});
    }
  }
  return paths;
}

void CheckEnvName(const Source& source, const Text& at, const std::string& side,
                  const std::string& name) {
  const auto is_letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  const std::string label = "sandbox.env " + side;
  if (name.empty()) {
    source.Invalid(at.line, at.key, label + " entries cannot be empty");
  } else if (!is_letter(name[0])) {
    source.Invalid(at.line, at.key,
                   label + " entry `" + name + "` must start with an ASCII letter or underscore");
  } else if (!std::all_of(name.begin(), name.end(), [&](char c) {
               return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
             })) {
    source.Invalid(
        at.line, at.key,
        label + " entry `" + name + "` must contain only ASCII letters, digits, or underscores");
  }
}

std::map<std::string, std::string> ReadEnv(MapReader* sandbox, Origins* origins) {
  sandbox->Note("env", "env", origins);
  std::map<std::string, std::string> env;
  for (const auto& [key, text] : sandbox->StringMap("env")) {
    CheckEnvName(sandbox->source(), text, "target", key.name);
    CheckEnvName(sandbox->source(), text, "source", text.value);
    if (policy::IsOwnVariable(key.name)) {
      sandbox->source().Invalid(text.line, text.key, policy::kOwnVariableRule);
    }
    env[key.name] = text.value;
    origins->Add("env." + key.name, PlaceOf(sandbox->source(), text));
  }
  return env;
}

std::string ValuesOf(const std::vector<Text>& texts) {
  std::string out;
  for (const Text& text : texts) out += (out.empty() ? "" : ", ") + text.value;
  return "`" + out + "`";
}

// `[]`, or `["*"]`: what is public. `around` is the line of what would hold the permissions.
void ReadHosts(MapReader* permissions, int around, SandboxSpec* spec) {
  const std::string key = permissions->KeyOf("network");
  const std::vector<Text> names = permissions->Strings("network");
  if (names.empty()) {
    const int line = permissions->present() ? permissions->line() : around;
    spec->origins.Add("network", permissions->source().At(line, key, ""));
    permissions->Note("network", "network", &spec->origins);
    return;
  }
  if (names.size() > 1 || names[0].value != "*") {
    permissions->source().Invalid(
        names[0].line, key,
        "sandbox.permissions.network only supports [] or [\"*\"] in v1, not " + ValuesOf(names) +
            "; network_policies names hosts");
  }
  spec->origins.Add("network", permissions->source().At(names[0].line, key, "[\"*\"]"));
  spec->network = policy::Network::kEgress;
  spec->egress = egress::PublicPolicy(key);
  spec->egress.budget = openshell::ReadBudget(permissions->Map("network_budget"));
}

// Rules as OpenShell's policies have them.
void ReadNetwork(MapReader* permissions, int around, SandboxSpec* spec) {
  const Node* const rules = permissions->Any("network_policies");
  if (rules == nullptr) return ReadHosts(permissions, around, spec);
  const std::string key = permissions->KeyOf("network_policies");
  if (!permissions->Strings("network").empty()) {
    permissions->source().Invalid(rules->line, key,
                                  "`network` and `network_policies` exclude each other: give one");
  }
  spec->egress = openshell::ReadNetwork(permissions);
  permissions->Note("network_policies", "network", &spec->origins);
  if (egress::HasEndpoints(spec->egress)) spec->network = policy::Network::kEgress;
}

std::vector<Text> ReadProviders(MapReader* permissions) {
  std::vector<Text> names = permissions->Strings("providers");
  for (const Text& name : names) {
    if (policy::IsProviderName(name.value)) continue;
    permissions->source().Invalid(
        name.line, name.key,
        "`" + name.value + "` names no provider: " + policy::kProviderNameRule + " is allowed");
  }
  return names;
}

std::vector<Text> ReadSystemTools(MapReader* sandbox) {
  std::vector<Text> tools;
  for (const Text& text : sandbox->Strings("system_tools")) {
    const bool path = text.value.find('/') != std::string::npos;
    const std::string normal = path ? NormalizedMount(text.value) : text.value;
    if (normal.empty() || (path && normal[0] != '/')) {
      sandbox->source().Invalid(
          text.line, text.key,
          "a system tool must be a name or an absolute path: `" + text.value + "`");
    } else {
      tools.push_back({normal, text.line, text.key});
    }
  }
  return tools;
}

// Where a limit is written, or that the format sets it where the file does not.
void NoteLimit(const MapReader& resources, const policy::LimitKey& key, Origins* origins) {
  const policy::Spelling& spelling = key.manifest;
  const std::string field = "limits." + std::string(key.name);
  resources.Note(spelling.name, field, origins);
  if (spelling.unsaid == 0 || origins->Find(field) != nullptr) return;
  origins->Add(field, resources.source().At(resources.line(), resources.KeyOf(spelling.name),
                                            "not given, so " + std::to_string(spelling.unsaid)));
}

void ReadResources(MapReader resources, SandboxSpec* spec) {
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    const policy::Spelling& spelling = key.manifest;
    NoteLimit(resources, key, &spec->origins);
    const uint64_t value =
        resources.Whole(spelling.name, spelling.unsaid, spelling.least, spelling.most);
    key.set(&spec->limits, value * spelling.unit);
    if (resources.Any(spelling.name) != nullptr) key.set(&spec->unsaid_limits, 0);
  }
  spec->output_bytes = resources.Whole("output_bytes", 0, 1, policy::kMaxOutputBytes);
  resources.Finish();
}

// Patterns are taken as they are written.
std::vector<Text> ReadDeny(MapReader* sandbox) {
  std::vector<Text> patterns;
  for (const Text& text : sandbox->Strings("deny")) {
    const Status good = pattern::PathPattern::Parse(text.value).status();
    if (good.ok()) {
      patterns.push_back(text);
    } else {
      sandbox->source().Invalid(text.line, text.key, good.message());
    }
  }
  return patterns;
}

// Paths relative to a writable host tree.
std::vector<Text> ReadProtect(MapReader* sandbox) {
  std::vector<Text> paths;
  for (const Text& text : sandbox->Strings("protect")) {
    const std::string path = CleanPath(text.value);
    const bool inside =
        path[0] != '/' && path != "." && !HasParent(text.value) && !HasControl(path);
    const auto refuse = [&](const std::string& rule) {
      sandbox->source().Invalid(text.line, text.key, "must be " + rule + ": `" + text.value + "`");
    };
    if (!inside) {
      refuse("a path relative to a writable host tree, without `..`");
    } else if (path.find('*') != std::string::npos) {
      refuse("a path, not a pattern; `deny` has patterns");
    } else {
      paths.push_back({path, text.line, text.key});
    }
  }
  return paths;
}

// "NAME", or a map of the name and the user.
policy::ImageRoot ReadImage(MapReader* sandbox) {
  policy::ImageRoot image;
  if (!sandbox->present()) return image;
  const Node* node = Find(*sandbox->node(), "image");
  if (node == nullptr || node->kind != NodeKind::kMap) {
    image.reference = sandbox->String("image").value_or(Text{}).value;
    return image;
  }
  MapReader map = sandbox->Map("image");
  image.reference = map.String("name", Need::kRequired).value_or(Text{}).value;
  image.user = map.String("user").value_or(Text{}).value;
  map.Finish();
  return image;
}

// What the format does not have: keys of ours.
void ReadExtensions(MapReader* sandbox, SandboxSpec* spec) {
  for (const char* name :
       {"protect", "deny", "protection", "landlock", "user", "writes", "image"}) {
    sandbox->Note(name, name, &spec->origins);
  }
  spec->protect = Noted(*sandbox, ReadProtect(sandbox), "protect", &spec->origins);
  spec->deny = Noted(*sandbox, ReadDeny(sandbox), "deny", &spec->origins);
  spec->protection = sandbox->Enum<policy::Protection>(
      "protection",
      {{"default", policy::Protection::kDefault}, {"none", policy::Protection::kNone}},
      spec->protection);
  spec->landlock =
      sandbox->Enum<policy::Landlock>("landlock",
                                      {{"hard_requirement", policy::Landlock::kHardRequirement},
                                       {"best_effort", policy::Landlock::kBestEffort}},
                                      spec->landlock);
  spec->writes = sandbox->Enum<policy::Writes>(
      "writes", {{"direct", policy::Writes::kDirect}, {"review", policy::Writes::kReview}},
      spec->writes);
  spec->user = static_cast<uint32_t>(
      sandbox->Whole("user", 0, 1, kMaxUser, "a cell's user is a number, and never root's"));
  spec->image = ReadImage(sandbox);
}

}  // namespace

SandboxSpec ReadSandbox(MapReader sandbox, const ProjectRoot* root) {
  MapReader permissions = sandbox.Map("permissions");
  MapReader filesystem = permissions.Map("filesystem");
  MapReader mounts = filesystem.Map("mounts");
  SandboxSpec spec;
  spec.mode = sandbox.Enum<SandboxMode>("mode",
                                        {{"read_only", SandboxMode::kReadOnly},
                                         {"workspace_write", SandboxMode::kWorkspaceWrite},
                                         {"danger_full_access", SandboxMode::kDangerFullAccess}},
                                        spec.mode);
  spec.system_tools_mode =
      sandbox.Enum<policy::ExecutablesMode>("system_tools_mode",
                                            {{"explicit", policy::ExecutablesMode::kExplicit},
                                             {"standard", policy::ExecutablesMode::kStandard},
                                             {"workspace", policy::ExecutablesMode::kWorkspace},
                                             {"all", policy::ExecutablesMode::kAll}},
                                            spec.system_tools_mode);
  Origins& origins = spec.origins;
  sandbox.Note("mode", "mode", &origins);
  sandbox.Note("system_tools_mode", "executables_mode", &origins);
  filesystem.Note("mounts", "mounts", &origins);
  sandbox.Note("system_tools", "executables", &origins);
  spec.read_mounts = Noted(mounts, ReadMounts(&mounts, "read"), "read_mounts", &origins);
  spec.review_mounts = Noted(mounts, ReadMounts(&mounts, "review"), "review_mounts", &origins);
  spec.write_mounts = Noted(mounts, ReadMounts(&mounts, "write"), "write_mounts", &origins);
  spec.exec = Noted(filesystem, ReadExec(&filesystem, root), "exec", &origins);
  spec.env = ReadEnv(&sandbox, &origins);
  ReadNetwork(&permissions, sandbox.line(), &spec);
  spec.providers = Noted(permissions, ReadProviders(&permissions), "providers", &origins);
  spec.system_tools = Noted(sandbox, ReadSystemTools(&sandbox), "executables", &origins);
  ReadResources(sandbox.Map("resources"), &spec);
  ReadExtensions(&sandbox, &spec);
  mounts.Finish();
  filesystem.Finish();
  permissions.Finish();
  sandbox.Finish();
  return spec;
}

}  // namespace odyssey::dialect
