#include "policy/dialect/bundle.h"

#include <algorithm>
#include <filesystem>

#include "policy/dialect/agent_file.h"
#include "policy/dialect/manifest.h"
#include "policy/dialect/project_root.h"
#include "policy/dialect/schema.h"
#include "policy/dialect/skill_files.h"
#include "policy/model/tool_table.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::dialect {
namespace {

ProblemKind SyntaxOf(Format format) {
  return format == Format::kJson5 ? ProblemKind::kJson5 : ProblemKind::kYaml;
}

// The document of a file below the root; `file` is how problems name it.
std::optional<Node> ReadDocument(const ProjectRoot& root, const std::string& path,
                                 const std::string& file, Format format, Problems* problems) {
  Result<std::string> text = root.Read(path);
  if (!text.ok()) {
    problems->push_back({ProblemKind::kIo, file, 0, "", text.status().message()});
    return std::nullopt;
  }
  return ParseDocument(format, file, *text, problems);
}

// The one manifest of the directory; "" with the reason in `problems`.
std::string FindManifest(const ProjectRoot& root, Problems* problems) {
  std::vector<std::string> found;
  for (const char* name : {"odyssey.bundle.json5", "odyssey.bundle.yaml", "odyssey.bundle.yml"}) {
    if (root.Has(name)) found.push_back(name);
  }
  if (found.empty()) {
    problems->push_back({ProblemKind::kIo, root.directory(), 0, "",
                         "no odyssey.bundle.json5 and no odyssey.bundle.yaml in it"});
    return "";
  }
  if (found.size() > 1) {
    problems->push_back({ProblemKind::kManifest, root.directory(), 0, "",
                         "holds both " + found[0] + " and " + found[1] + ": keep one"});
    return "";
  }
  const Result<std::string> path = root.Check("manifest", found[0], Wanted::kFile);
  if (path.ok()) return *path;
  problems->push_back({ProblemKind::kManifest, root.directory(), 0, "", path.status().message()});
  return "";
}

void LoadAgents(const ProjectRoot& root, const Manifest& manifest, const std::string& directory,
                Bundle* bundle, Problems* problems) {
  for (const AgentEntry& entry : manifest.agents) {
    if (entry.path.empty()) continue;  // reported already
    const std::string file = directory + entry.path;
    const std::optional<Node> document =
        ReadDocument(root, entry.path, file, Format::kYaml, problems);
    if (!document) continue;
    const Source source{file, ProblemKind::kYaml, problems};
    AgentSpec agent = ReadAgent(*document, source, manifest.defaults, manifest.abi);
    if (!entry.id.empty()) agent.id = entry.id;
    agent.path = entry.path;
    bundle->agents.push_back(std::move(agent));
  }
}

// An agent hands work to agents of its bundle only, and never to itself.
void CheckDelegation(const Bundle& bundle, Problems* problems) {
  const auto has = [&bundle](const std::string& id) {
    return std::any_of(bundle.agents.begin(), bundle.agents.end(),
                       [&id](const AgentSpec& agent) { return agent.id == id; });
  };
  for (const AgentSpec& agent : bundle.agents) {
    for (size_t i = 0; i < agent.delegation.allow.size(); ++i) {
      const std::string& id = agent.delegation.allow[i];
      if (id == "*" || (id != agent.id && has(id))) continue;
      const std::string field = "delegation.allow[" + std::to_string(i) + "]";
      const Place* place = agent.origins.Find(field);
      problems->push_back({ProblemKind::kManifest, place->file, place->line, place->key,
                           id == agent.id ? "an agent hands no work to itself: `" + id + "`"
                                          : "the bundle has no agent `" + id + "`"});
    }
  }
}

// The server that a rule for mcp__SERVER__TOOL names; "" if it is a pattern.
std::string ServerOfRule(const std::string& tool) {
  const std::string rest = tool.substr(policy::kServedPrefix.size());
  const size_t end = rest.find("__");
  const std::string name = rest.substr(0, end);
  return name.find('*') == std::string::npos ? name : "";
}

// A rule for a server that there is not protects from nothing.
void CheckServers(const Bundle& bundle, Problems* problems) {
  const auto has = [&bundle](const std::string& name) {
    return std::any_of(bundle.mcp_servers.begin(), bundle.mcp_servers.end(),
                       [&name](const McpServerSpec& server) { return server.name == name; });
  };
  for (const AgentSpec& agent : bundle.agents) {
    const ToolRuleSpec& spec = agent.tools;
    for (const auto& [name, entries] :
         {std::pair("allow", &spec.allow), {"ask", &spec.ask}, {"deny", &spec.deny}}) {
      for (size_t i = 0; i < entries->size(); ++i) {
        const auto rule = rules::ParseRule(name, rules::Verdict::kAllow, (*entries)[i]);
        const std::string tool = rule.ok() ? rule->tool : "";  // else it was reported
        if (!policy::IsServedTool(tool)) continue;
        const std::string server = ServerOfRule(tool);
        if (server.empty() || has(server)) continue;
        const std::string field = std::string("tools.") + name + "[" + std::to_string(i) + "]";
        const Place* place = agent.origins.Find(field);
        problems->push_back(
            {ProblemKind::kManifest, place->file, place->line, place->key,
             "`" + tool + "`: the manifest names no server `" + server + "` in mcp_servers"});
      }
    }
  }
}

Bundle Load(const std::string& directory, const DirectoryOpener& open, Problems* problems) {
  const ProjectRoot root(directory, open);
  const std::string name = FindManifest(root, problems);
  if (name.empty()) return {};

  const std::string prefix =
      directory.empty() || directory.back() == '/' ? directory : directory + "/";
  const Format format = name.find(".json5") != std::string::npos ? Format::kJson5 : Format::kYaml;
  const Source source{prefix + name, SyntaxOf(format), problems};
  const std::optional<Node> document = ReadDocument(root, name, source.file, format, problems);
  if (!document) return {};

  const Manifest manifest = ReadManifest(*document, source, root);
  Bundle bundle = manifest.bundle;
  bundle.directory = directory;
  bundle.manifest_path = source.file;
  if (!bundle.readme_path.empty()) {
    Result<std::string> text = root.Read(bundle.readme_path);
    if (text.ok()) {
      bundle.readme = std::move(text).value();
    } else {
      source.Invalid(manifest.readme.line, manifest.readme.key, text.status().message());
    }
  }
  LoadAgents(root, manifest, prefix, &bundle, problems);
  bundle.skill_files = FindSkillFiles(root, bundle.skills, prefix, problems);
  CheckDelegation(bundle, problems);
  CheckServers(bundle, problems);
  return bundle;
}

// What cannot be read comes before what is wrong with it.
void SortBySeverity(Problems* problems) {
  std::stable_partition(problems->begin(), problems->end(),
                        [](const Problem& p) { return p.kind != ProblemKind::kManifest; });
}

}  // namespace

Result<Bundle> LoadBundle(const std::string& directory, const DirectoryOpener& open) {
  Problems problems;
  Bundle bundle = Load(directory, open, &problems);
  if (problems.empty()) return bundle;
  SortBySeverity(&problems);
  return ToStatus(problems);
}

void NamePlacesInBundle(Bundle* bundle) {
  bundle->origins.NameFrom(bundle->directory);
  bundle->sandbox.origins.NameFrom(bundle->directory);
  for (AgentSpec& agent : bundle->agents) agent.origins.NameFrom(bundle->directory);
}

Problems ValidateBundle(const std::string& directory, Bundle* bundle, const DirectoryOpener& open) {
  Problems problems;
  Bundle read = Load(directory, open, &problems);
  if (bundle != nullptr) *bundle = std::move(read);
  SortBySeverity(&problems);
  return problems;
}

Result<AgentSpec> FindAgent(const Bundle& bundle, const std::string& agent_id) {
  std::string names;
  for (size_t i = 0; i < bundle.agents.size(); ++i) {
    const AgentSpec& agent = bundle.agents[i];
    if (agent.id == agent_id || (agent_id.empty() && i == bundle.default_agent)) return agent;
    names += (names.empty() ? "" : ", ") + agent.id;
  }
  return NotFound("bundle " + bundle.id + " has no agent `" + agent_id + "`; it has: " + names);
}

Result<AgentSpec> FindAgentOfFile(const Bundle& bundle, const std::string& path) {
  for (const AgentSpec& agent : bundle.agents) {
    std::error_code none;  // a file that is not there is no agent's
    if (std::filesystem::equivalent(bundle.directory + "/" + agent.path, path, none)) return agent;
  }
  return NotFound("is no agent of the bundle in " + bundle.directory);
}

std::vector<std::string> ToolsOf(const Bundle& bundle, const AgentSpec& agent) {
  const std::vector<std::string> all = bundle.tools.empty() ? policy::ToolNames() : bundle.tools;
  const std::vector<std::string>& required = agent.tools.require;
  std::vector<std::string> tools;
  for (const std::string& tool : all) {
    const bool wanted = std::find(required.begin(), required.end(), tool) != required.end();
    if (required.empty() || wanted) tools.push_back(tool);
  }
  std::sort(tools.begin(), tools.end());
  return tools;
}

}  // namespace odyssey::dialect
