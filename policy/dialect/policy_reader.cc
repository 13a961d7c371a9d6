#include "policy/dialect/policy_reader.h"

#include <algorithm>
#include <tuple>

#include "common/base/sha256.h"
#include "policy/ceiling/ceiling.h"
#include "policy/dialect/agent_file.h"
#include "policy/dialect/approvals.h"
#include "policy/dialect/bundle.h"
#include "policy/dialect/dialect_detector.h"
#include "policy/dialect/llm_do.h"
#include "policy/dialect/llm_do_workshop.h"
#include "policy/dialect/odek.h"
#include "policy/dialect/openshell.h"
#include "policy/dialect/path_text.h"
#include "policy/dialect/project_root.h"
#include "policy/dialect/sandbox_request.h"
#include "policy/dialect/sandbox_section.h"
#include "policy/pattern/path_pattern.h"

namespace odyssey::dialect {
namespace {

constexpr std::string_view kManifestNames[] = {"odyssey.bundle.json5", "odyssey.bundle.yaml",
                                               "odyssey.bundle.yml"};
constexpr int kDirectoriesAbove = 2;  // agents/ID/agent.yaml
constexpr char kOdekUserConfig[] = "/.odek/config.json";

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool IsManifestName(const std::string& path) {
  const std::string name = NameOf(path);
  return std::find(std::begin(kManifestNames), std::end(kManifestNames), name) !=
         std::end(kManifestNames);
}

Format FormatOf(const std::string& path, std::string_view text) {
  for (const std::string_view end : {".json5", ".json"}) {
    if (EndsWith(path, end)) return Format::kJson5;
  }
  for (const std::string_view end : {".yaml", ".yml"}) {
    if (EndsWith(path, end)) return Format::kYaml;
  }
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && (text[first] == '{' || text[first] == '/');
  return json ? Format::kJson5 : Format::kYaml;
}

// What the request's own reader does not see: links. They are followed once, here, if no other uid
// could have planted them: else an earlier command could choose what a later one is shown.
void FollowLinks(const PolicyContext& context, const Source& source, Policy* policy) {
  const auto follow = [&](const std::string& field, std::string* path,
                          policy::FileIdentity* identity) {
    const PathFacts facts = context.Look(*path);
    *path = facts.resolved;
    *identity = facts.identity;
    if (facts.planted_link.empty()) return;
    const Place* place = policy->origins.Find(field);
    source.Invalid(place == nullptr ? 0 : place->line, place == nullptr ? field : place->key,
                   RefusalOfLink(facts.planted_link, facts.resolved));
  };
  for (size_t i = 0; i < policy->request.mounts.size(); ++i) {
    policy::Mount& mount = policy->request.mounts[i];
    follow("mounts[" + std::to_string(i) + "]", &mount.source, &mount.identity);
  }
  std::string& workspace = policy->request.workspace;
  if (!workspace.empty()) follow("workspace", &workspace, &policy->request.workspace_identity);
  for (std::string& path : policy->create) path = context.Look(path).resolved;
}

void SortByLine(Problems* problems) {
  std::stable_sort(problems->begin(), problems->end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.file, a.line) < std::tie(b.file, b.line);
  });
}

// A pattern that was written for another tool covers nothing, and would not say so.
void WarnOfPatterns(const SandboxSpec& spec, const Source& source) {
  for (size_t i = 0; i < spec.deny.size(); ++i) {
    const std::string_view literal = pattern::TakenLiterally(spec.deny[i]);
    if (literal.empty()) continue;
    const Place* place = spec.origins.Find("deny[" + std::to_string(i) + "]");
    source.Warn(place->line, place->key,
                "`" + spec.deny[i] + "`: `" + std::string(literal) +
                    "` stands for itself: only `*`, `?`, and `**` as a whole component do not");
  }
}

// `bundle_directory` is absolute and without links, or empty.
void AddSpec(const SandboxSpec& spec, const std::string& bundle_directory, const Source& source,
             const PolicyContext& context, Policy* out) {
  WarnOfPatterns(spec, source);
  RequestContext request_context;
  request_context.client_cwd = context.client_cwd;
  request_context.bundle_directory = bundle_directory;
  request_context.bundle_as_workspace = !out->bundle_copy.empty();
  for (const auto& [target, variable] : spec.env) {
    std::optional<std::string> value = context.Variable(variable);
    if (value) request_context.host_env[variable] = *std::move(value);
    if (ceiling::LooksSecret(variable)) out->secrets.push_back({target, variable});
    if (context.MayTake(variable)) request_context.granted_env.insert(variable);
  }
  auto request = ToRequest(spec, request_context, source, &out->origins);
  if (request) out->request = *std::move(request);
}

// `key`: of the document in its file.
void ReadOdyssey(const Node& document, const std::string& key, const Source& source,
                 const PolicyContext& context, Policy* out) {
  MapReader map(&source, &document, key);
  map.Enum<bool>("policy_version", {{"odyssey.policy/v1", true}}, true, Need::kRequired);
  const SandboxSpec spec = ReadSandbox(map.Map("sandbox", Need::kRequired), nullptr);
  map.Finish();
  if (source.problems->empty()) AddSpec(spec, "", source, context, out);
}

// The user's own configuration, which the project's is read over.
odek::Config ReadOdekUser(const PolicyContext& context, const Source& source, Policy* out) {
  if (context.home.empty()) return {};
  Source user = source;
  user.file = context.home + kOdekUserConfig;
  const Result<std::string> text = context.Read(user.file);
  if (!text.ok()) {
    if (text.status().code() != Code::kNotFound) user.Invalid(0, "", text.status().message());
    return {};
  }
  out->also_read.push_back(user.file);
  const std::optional<Node> document =
      ParseDocument(Format::kJson5, user.file, *text, source.problems, kMaxPolicyBytes);
  return document ? odek::ReadConfig(*document, user) : odek::Config{};
}

// What the request is without the project's file. Problems of the other layers are reported by what
// reads them with it.
policy::SandboxRequest RequestWithout(const odek::Config& user, const odek::Config& environment,
                                      const odek::Config& flags, const Source& source,
                                      const PolicyContext& context) {
  Problems dropped;
  const Source quiet{.file = source.file, .problems = &dropped};
  Policy policy;
  const odek::Config config = odek::Merge(user, environment, odek::Origin::kEnvironment, quiet);
  odek::AddRequest(odek::Merge(config, flags, odek::Origin::kFlags, quiet), quiet, context,
                   &policy);
  return policy.request;
}

void ReadOdek(const Node& document, const Source& source, const PolicyContext& context,
              Policy* out) {
  const bool is_user = !context.home.empty() && JoinPath(context.client_cwd, source.file) ==
                                                    CleanPath(context.home + kOdekUserConfig);
  const odek::Config user = is_user ? odek::Config() : ReadOdekUser(context, source, out);
  const odek::Config file = odek::ReadConfig(document, source);
  const odek::Config environment = odek::ReadEnvironment(context, source, &out->also_read);
  const odek::Config flags = odek::ReadFlags(context, source);
  for (const odek::Config* layer : {&user, &file, &environment, &flags}) {
    odek::CheckValues(*layer, source);
  }
  odek::Config config = odek::Merge({}, user, odek::Origin::kUser, source);
  if (!is_user) {
    out->project = {.directory = context.client_cwd,
                    .without = RequestWithout(config, environment, flags, source, context),
                    .digest = {}};
  }
  config =
      odek::Merge(config, file, is_user ? odek::Origin::kUser : odek::Origin::kProject, source);
  config = odek::Merge(config, environment, odek::Origin::kEnvironment, source);
  config = odek::Merge(config, flags, odek::Origin::kFlags, source);
  odek::AddRequest(config, source, context, out);
}

void ReadLlmDo(const Node& document, Source source, const PolicyContext& context, Policy* out) {
  const llm_do::Merged merged = llm_do::WithWorkshop(document, context, &source, out);
  llm_do::AddRequest(llm_do::ReadWorker(merged.document, source), source, context, out);
  // What the worker replaces of the workshop counts for nothing, and is wrong all the same.
  Problems replaced;
  llm_do::ReadWorker(merged.replaced, {.file = source.file,
                                       .syntax = source.syntax,
                                       .problems = &replaced,
                                       .meaning = source.meaning,
                                       .beside = source.beside});
  Problems* const problems = source.problems;
  for (Problem& problem : replaced) {
    const bool told = std::find(problems->begin(), problems->end(), problem) != problems->end();
    if (problem.file == source.beside && !told) problems->push_back(std::move(problem));
  }
}

void ReadDocumentOf(Dialect dialect, const Node& document, const Source& source,
                    const PolicyContext& context, Policy* out) {
  switch (dialect) {
    case Dialect::kOdyssey:
      return ReadOdyssey(document, "", source, context, out);
    case Dialect::kLlmDo:
      return ReadLlmDo(document, source, context, out);
    case Dialect::kOdek:
      return ReadOdek(document, source, context, out);
    case Dialect::kOpenShell:
      return openshell::AddRequest(openshell::ReadDocument(document, source), source, context, out);
    case Dialect::kManifest:
    case Dialect::kBundle:
      return;
  }
}

// The sandbox of a bundle, for its manifest or the file of one of its agents.
std::optional<Policy> ReadBundleOf(const std::string& path, bool is_agent,
                                   const PolicyContext& context, Problems* problems) {
  const auto refuse = [&](const std::string& message) {
    problems->push_back({ProblemKind::kManifest, path, 0, "", message});
    return std::nullopt;
  };
  const std::optional<std::string> directory = BundleOf(path, context.open);
  if (!directory || (!is_agent && !IsManifestName(path))) {
    return refuse(
        "is read with its bundle, and is no part of one: a manifest is named odyssey.bundle.json5 "
        "or odyssey.bundle.yaml, an agent's file is beside or below it");
  }
  std::optional<Policy> policy = ReadBundlePolicy(*directory, context, problems);
  if (!policy || !is_agent) return policy;
  const Result<Bundle> bundle = LoadBundle(*directory, context.open);
  if (!bundle.ok()) return refuse(bundle.status().message());
  const Result<AgentSpec> agent = FindAgentOfFile(*bundle, path);
  if (!agent.ok()) return refuse(agent.status().message());
  policy->approvals = ApprovalsOf(*bundle, *agent);
  return policy;
}

Source SourceOf(const std::string& path, Problems* problems, Policy* out) {
  return {.file = path,
          .syntax = ProblemKind::kPolicy,
          .problems = problems,
          .warnings = &out->warnings,
          .meaning = ProblemKind::kPolicy};
}

}  // namespace

std::optional<std::string> BundleOf(const std::string& path, const DirectoryOpener& open) {
  if (IsManifestName(path)) return DirectoryOf(path);
  std::string directory = DirectoryOf(path);
  for (int above = 0; above <= kDirectoriesAbove; ++above) {
    const ProjectRoot root(directory, open);
    for (const std::string_view name : kManifestNames) {
      if (root.Has(std::string(name))) return directory;
    }
    directory = CleanPath(directory + "/..");
  }
  return std::nullopt;
}

std::optional<AgentSpec> ReadAgentAlone(std::string_view text, const std::string& path,
                                        const DirectoryOpener& open, Problems* problems) {
  Problems kind_problems, warnings;
  Source source{.file = path,
                .syntax = ProblemKind::kPolicy,
                .problems = &kind_problems,
                .warnings = &warnings,
                .meaning = ProblemKind::kPolicy};
  const std::optional<Node> document =
      ParseDocument(FormatOf(path, text), path, text, &kind_problems, kMaxDocumentBytes);
  if (!document) return std::nullopt;
  const std::optional<Detected> detected = DetectDialect(*document, path, source);
  if (!detected || !detected->is_agent || BundleOf(path, open)) return std::nullopt;
  source.problems = problems;
  AgentSpec agent = ReadAgent(*document, source, {}, "");
  if (!problems->empty()) return std::nullopt;
  return agent;
}

std::optional<Policy> ReadBundlePolicy(const std::string& directory, const PolicyContext& context,
                                       Problems* problems) {
  *problems = ValidateBundle(directory, nullptr, context.open);
  if (!problems->empty()) return std::nullopt;
  const Result<Bundle> bundle = LoadBundle(directory, context.open);
  if (!bundle.ok()) {  // changed since
    problems->push_back({ProblemKind::kIo, directory, 0, "", bundle.status().message()});
    return std::nullopt;
  }
  Policy out{.dialect = bundle->newer_form ? Dialect::kBundle : Dialect::kManifest};
  const Source source{
      .file = bundle->manifest_path, .problems = problems, .warnings = &out.warnings};
  out.bundle_copy = context.bundle_copy;
  const std::string real = context.Look(JoinPath(context.client_cwd, directory)).resolved;
  AddSpec(bundle->sandbox, out.bundle_copy.empty() ? real : out.bundle_copy, source, context, &out);
  if (problems->empty()) FollowLinks(context, source, &out);
  if (!problems->empty()) return std::nullopt;
  for (const AgentSpec& agent : bundle->agents) {
    for (Approval& approval : ApprovalsOf(*bundle, agent)) {
      out.approvals.push_back(std::move(approval));
    }
  }
  return out;
}

std::optional<Policy> ReadPolicyPart(const Node& part, const std::string& key,
                                     const std::string& path, const PolicyContext& context,
                                     Problems* problems) {
  Policy out;
  const Source source = SourceOf(path, problems, &out);
  ReadOdyssey(part, key, source, context, &out);
  if (problems->empty()) FollowLinks(context, source, &out);
  SortByLine(problems);
  if (!problems->empty()) return std::nullopt;
  return out;
}

std::optional<Policy> ReadPolicy(std::string_view text, const std::string& path,
                                 const PolicyContext& context, Problems* problems) {
  Policy out;
  const Source source = SourceOf(path, problems, &out);
  const Format format = FormatOf(path, text);
  const size_t most = format == Format::kJson5 ? kMaxPolicyBytes : kMaxDocumentBytes;
  const std::optional<Node> document = ParseDocument(format, path, text, problems, most);
  if (!document) return std::nullopt;
  const std::optional<Detected> detected = DetectDialect(*document, path, source);
  if (!detected) return std::nullopt;

  out.dialect = detected->dialect;
  if (IsBundle(out.dialect)) return ReadBundleOf(path, detected->is_agent, context, problems);
  if (out.dialect != Dialect::kOdek && text.size() > kMaxDocumentBytes) {
    source.Syntax(0, "", "longer than " + std::to_string(kMaxDocumentBytes) + " bytes");
    return std::nullopt;
  }
  ReadDocumentOf(out.dialect, *document, source, context, &out);
  if (out.project) out.project->digest = Sha256Hex(text);
  if (problems->empty()) FollowLinks(context, source, &out);
  SortByLine(problems);
  SortByLine(&out.warnings);
  if (!problems->empty()) return std::nullopt;
  return out;
}

}  // namespace odyssey::dialect
