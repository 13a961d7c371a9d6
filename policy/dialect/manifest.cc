#include "policy/dialect/manifest.h"

#include <algorithm>
#include <cctype>

#include "policy/dialect/sandbox_section.h"
#include "policy/model/tool_table.h"

namespace odyssey::dialect {
namespace {

constexpr size_t kMaxComponentBytes = 128;
constexpr size_t kMaxTools = 64;
constexpr uint64_t kMaxWindow = 100'000;
constexpr uint64_t kMinWindowTokens = 100;
constexpr uint64_t kMaxWindowTokens = 10'000'000;
constexpr uint64_t kMinSummaryTokens = 50;
constexpr uint64_t kMaxSummaryTokens = 32'000;

bool IsBlank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

std::string ReadComponent(MapReader* map, std::string_view name, const std::string& label) {
  const std::optional<Text> text = map->String(name, Need::kRequired);
  if (!text) return "";
  const Status status = CheckComponent(label, text->value);
  if (!status.ok()) map->source().Invalid(text->line, text->key, status.message());
  return text->value;
}

std::string CheckPath(const Source& source, const Text& text, const std::string& label,
                      Wanted wanted, const ProjectRoot& root) {
  Result<std::string> path = root.Check(label, text.value, wanted);
  if (path.ok()) return std::move(path).value();
  source.Invalid(text.line, text.key, path.status().message());
  return "";
}

void ReadReadme(MapReader* map, const ProjectRoot& root, Manifest* manifest) {
  const std::optional<Text> text = map->String("readme", Need::kRequired);
  if (!text) return;
  manifest->readme = *text;
  if (IsBlank(text->value)) {
    map->source().Invalid(text->line, text->key, "bundle readme cannot be empty");
    return;
  }
  manifest->bundle.readme_path =
      CheckPath(map->source(), *text, "readme path", Wanted::kFile, root);
}

// executor and memory: {type: prebuilt, id, config}. Returns the id; reports one that is none of
// `ids`, whose first is the default.
std::string ReadProvider(MapReader* provider, const std::string& label, const std::string& plural,
                         const std::vector<std::string_view>& ids) {
  provider->Enum<bool>("type", {{"prebuilt", true}}, true, Need::kRequired,
                       "only prebuilt " + plural + " are supported in v1");
  const std::optional<Text> id = provider->String("id", Need::kRequired);
  if (id && std::find(ids.begin(), ids.end(), id->value) != ids.end()) return id->value;
  if (id && IsBlank(id->value)) {
    provider->source().Invalid(id->line, id->key, label + " id cannot be empty");
  } else if (id) {
    provider->source().Invalid(
        id->line, id->key,
        "unsupported prebuilt " + label + ": " + id->value + ", expected " + Quoted(ids));
  }
  return std::string(ids.front());
}

void ReadProviders(MapReader* map, AgentSpec* defaults) {
  MapReader executor = map->Map("executor", Need::kRequired);
  if (executor.present()) {
    defaults->executor = ReadProvider(&executor, "executor", "executors", {"react"});
    MapReader config = executor.Map("config");
    config.Finish();
    executor.Finish();
  }
  MapReader memory = map->Map("memory");
  if (!memory.present()) return;
  const std::string id = ReadProvider(&memory, "memory provider", "memory providers",
                                      {"sliding_window", "summarizing_window"});
  defaults->memory.kind =
      id == "summarizing_window" ? MemoryKind::kSummarizingWindow : MemoryKind::kSlidingWindow;
  ReadMemoryConfig(memory.Map("config"), &defaults->memory);
  memory.Finish();
}

std::vector<Skill> ReadSkills(MapReader* map, const ProjectRoot& root) {
  std::vector<Skill> skills;
  for (MapReader& entry : map->Maps("skills", kMaxSkills)) {
    Skill skill;
    skill.name = ReadComponent(&entry, "name", "skill name");
    const auto same = [&](const Skill& other) { return other.name == skill.name; };
    if (std::any_of(skills.begin(), skills.end(), same)) {
      entry.source().Invalid(entry.line(), entry.KeyOf("name"),
                             "skill name is used twice: `" + skill.name + "`");
    }
    const std::optional<Text> path = entry.String("path", Need::kRequired);
    if (path) skill.path = CheckPath(entry.source(), *path, "skill path", Wanted::kAnything, root);
    entry.Finish();
    skills.push_back(std::move(skill));
  }
  return skills;
}

std::vector<std::string> ReadTools(MapReader* map, Origins* origins) {
  std::vector<std::string> tools;
  std::vector<Text> companions;
  for (MapReader& entry : map->Maps("tools", kMaxTools)) {
    const std::optional<Text> name = entry.String("name", Need::kRequired);
    const std::optional<Text> source = entry.String("source");
    if (source && source->value != "builtin") {
      entry.source().Invalid(source->line, source->key,
                             "only builtin tools are supported in v1: `" + source->value + "`");
    }
    entry.Finish();
    if (!name) continue;
    if (policy::FindTool(name->value) == nullptr) {
      entry.source().Invalid(name->line, name->key, UnknownTool(name->value));
    } else if (std::find(tools.begin(), tools.end(), name->value) == tools.end()) {
      origins->Add("tools[" + std::to_string(tools.size()) + "]", PlaceOf(entry.source(), *name));
      tools.push_back(name->value);
      if (policy::FindTool(name->value)->comes_with != nullptr) companions.push_back(*name);
    }
  }
  for (const Text& name : companions) {
    const std::string other = policy::FindTool(name.value)->comes_with;
    if (std::find(tools.begin(), tools.end(), other) != tools.end()) continue;
    map->source().Invalid(name.line, name.key,
                          "`" + name.value + "` comes with `" + other + "`, which is not named");
  }
  return tools;
}

// The keys that both forms share, in the order of validation.
void ReadContent(MapReader* map, const ProjectRoot& root, Manifest* manifest) {
  manifest->bundle.skills = ReadSkills(map, root);
  manifest->bundle.tools = ReadTools(map, &manifest->bundle.origins);
  manifest->bundle.mcp_servers = ReadMcpServers(map, &manifest->bundle.origins);
  manifest->bundle.sandbox = ReadSandbox(map->Map("sandbox"), &root);
}

Manifest ReadV1(MapReader map, const ProjectRoot& root) {
  Manifest manifest;
  map.Enum<bool>("manifest_version", {{"odyssey.bundle/v1", true}}, true, Need::kRequired);
  manifest.bundle.id = ReadComponent(&map, "id", "bundle id");
  manifest.bundle.version = ReadComponent(&map, "version", "bundle version");
  ReadProviders(&map, &manifest.defaults);
  if (const std::optional<Text> path = map.String("agent_spec", Need::kRequired)) {
    manifest.agents.push_back(
        {"", CheckPath(map.source(), *path, "agent spec path", Wanted::kFile, root), *path});
  }
  ReadReadme(&map, root, &manifest);
  ReadContent(&map, root, &manifest);
  map.Finish();
  return manifest;
}

void ReadAgents(MapReader* spec, const ProjectRoot& root, Manifest* manifest) {
  size_t defaults = 0;
  for (MapReader& entry : spec->Maps("agents", kMaxAgents)) {
    AgentEntry agent;
    agent.id = ReadComponent(&entry, "id", "agent id");
    for (const AgentEntry& other : manifest->agents) {
      if (other.id != agent.id) continue;
      entry.source().Invalid(entry.line(), entry.KeyOf("id"),
                             "agent id is used twice: `" + agent.id + "`");
    }
    if (const std::optional<Text> path = entry.String("spec", Need::kRequired)) {
      agent.path = CheckPath(entry.source(), *path, "agent spec path", Wanted::kFile, root);
      agent.place = *path;
    }
    if (const Node* module = entry.Any("module")) {
      entry.source().Invalid(module->line, entry.KeyOf("module"),
                             "wasm agents are not supported; remove the module");
    }
    if (entry.Bool("default").value_or(false)) {
      manifest->bundle.default_agent = manifest->agents.size();
      ++defaults;
    }
    entry.Finish();
    manifest->agents.push_back(std::move(agent));
  }
  const std::string key = spec->KeyOf("agents");
  if (manifest->agents.empty()) {
    spec->source().Invalid(spec->line(), key, "a bundle needs at least one agent");
  } else if (defaults > 1 || (defaults == 0 && manifest->agents.size() > 1)) {
    spec->source().Invalid(
        spec->line(), key,
        "exactly one agent must be the default, not " + std::to_string(defaults));
  }
}

std::string ReadAbi(MapReader* spec) {
  const Node* abi = spec->Any("abiVersion");
  if (abi == nullptr) return "";
  if (abi->kind == NodeKind::kString || abi->kind == NodeKind::kNumber) return abi->text;
  spec->source().Syntax(abi->line, spec->KeyOf("abiVersion"), "must be a string or a number");
  return "";
}

Manifest ReadBundleV1(MapReader map, const ProjectRoot& root) {
  Manifest manifest;
  manifest.bundle.newer_form = true;
  map.Enum<bool>("apiVersion", {{"odyssey.ai/bundle.v1", true}}, true, Need::kRequired);
  map.Enum<bool>("kind", {{"AgentBundle", true}}, true, Need::kRequired);
  MapReader metadata = map.Map("metadata", Need::kRequired);
  MapReader spec = map.Map("spec", Need::kRequired);
  if (metadata.present()) {
    manifest.bundle.id = ReadComponent(&metadata, "name", "bundle id");
    manifest.bundle.version = ReadComponent(&metadata, "version", "bundle version");
  }
  if (spec.present()) {
    manifest.abi = ReadAbi(&spec);
    ReadAgents(&spec, root, &manifest);
  }
  if (metadata.present()) ReadReadme(&metadata, root, &manifest);
  ReadContent(&spec, root, &manifest);

  MapReader signatures = spec.Map("signatures");
  const Node* cosign = signatures.Any("cosign");
  if (cosign != nullptr && !(cosign->items.empty() && cosign->text.empty())) {
    map.source().Invalid(
        cosign->line, signatures.KeyOf("cosign"),
        "signatures cannot be verified by this version; it accepts none unverified");
  }
  signatures.Finish();
  spec.Finish();
  metadata.Finish();
  map.Finish();
  return manifest;
}

}  // namespace

Status CheckComponent(const std::string& label, const std::string& value) {
  const std::string shown = ": `" + value + "`";
  if (IsBlank(value)) return InvalidArgument(label + " cannot be empty");
  if (value[0] == '/') return InvalidArgument(label + " must be a relative path component" + shown);
  if (value.find_first_of("/\\") != std::string::npos || value == "." || value == "..") {
    return InvalidArgument(label + " must not contain path separators or traversal segments" +
                           shown);
  }
  const auto is_alnum = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const bool plain = std::all_of(value.begin(), value.end(), [&](char c) {
    return is_alnum(c) || c == '.' || c == '_' || c == '-';
  });
  if (plain && is_alnum(value[0]) && value.size() <= kMaxComponentBytes) return OkStatus();
  return InvalidArgument(label + " must match [A-Za-z0-9][A-Za-z0-9._-]{0,127}" + shown);
}

void ReadMemoryConfig(MapReader config, MemorySpec* memory) {
  const bool both = config.Any("max_window") != nullptr && config.Any("window_size") != nullptr;
  const uint64_t window = config.Whole("max_window", memory->max_window, 1, kMaxWindow);
  memory->max_window = static_cast<uint32_t>(config.Whole("window_size", window, 1, kMaxWindow));
  if (both) {
    config.source().Invalid(config.line(), config.key(),
                            "max_window and window_size mean the same: give one");
  }
  memory->max_tokens =
      config.Whole("max_tokens", memory->max_tokens, kMinWindowTokens, kMaxWindowTokens);
  if (memory->kind == MemoryKind::kSummarizingWindow) {
    memory->summary_tokens = config.Whole("summary_tokens", memory->summary_tokens,
                                          kMinSummaryTokens, kMaxSummaryTokens);
  }
  config.Finish();
}

Manifest ReadManifest(const Node& document, const Source& source, const ProjectRoot& root) {
  const MapReader map(&source, &document, "");
  if (!map.present()) return {};
  const bool newer = source.syntax == ProblemKind::kYaml && Find(document, "apiVersion") != nullptr;
  return newer ? ReadBundleV1(map, root) : ReadV1(map, root);
}

}  // namespace odyssey::dialect
