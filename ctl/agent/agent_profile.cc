#include "ctl/agent/agent_profile.h"

#include <algorithm>
#include <functional>

#include "policy/dialect/policy_reader.h"
#include "policy/dialect/schema.h"

namespace odyssey::ctl {
namespace {

using dialect::MapReader;
using dialect::Need;
using dialect::Node;
using dialect::Source;
using dialect::Text;

constexpr std::string_view kBegin = "${";
constexpr uint64_t kMaxNode = 999;

struct Variable {
  size_t begin = 0, end = 0;  // of "${NAME}"
  std::string name;
};

std::optional<Variable> NextVariable(std::string_view text, size_t from) {
  const size_t begin = text.find(kBegin, from);
  if (begin == std::string_view::npos) return std::nullopt;
  const size_t end = text.find('}', begin);
  if (end == std::string_view::npos) return Variable{begin, text.size(), ""};
  const size_t name = begin + kBegin.size();
  return Variable{begin, end + 1, std::string(text.substr(name, end - name))};
}

std::string Replace(std::string_view text, const ProfileValues& values) {
  std::string out;
  size_t from = 0;
  while (const std::optional<Variable> found = NextVariable(text, from)) {
    out += text.substr(from, found->begin - from);
    out += values.at(found->name);
    from = found->end;
  }
  return out += text.substr(from);
}

void EachString(Node* node, const std::function<void(Node*)>& visit) {
  if (node->kind == dialect::NodeKind::kString) visit(node);
  for (Node& item : node->items) EachString(&item, visit);
}

// Reads one file.
class Reader final {
 public:
  Reader(const Source* source, const Node* root) : source_(*source), map_(source, root, "") {}

  AgentProfile Read() {
    AgentProfile out{.file = source_.file};
    map_.Enum<bool>("agent_version", {{"odyssey.agent/v1", true}}, true, Need::kRequired);
    out.summary = Required("summary");
    out.command = Required("command");
    out.package = Required("package");
    for (const Text& text : map_.Strings("programs")) {
      if (IsBelow(text)) out.programs.push_back(text.value);
    }
    out.node = map_.Whole("node", 0, 1, kMaxNode);
    ReadModels(map_.Map("models", Need::kRequired), &out);
    for (const auto& [key, text] : map_.StringMap("environment")) {
      if (key.name.empty() || key.name.find('=') != std::string::npos) {
        source_.Invalid(key.line, "environment." + key.name, "is no name of a variable");
      }
      out.environment.emplace_back(key.name, Known(text));
    }
    for (const Text& text : map_.Strings("arguments")) out.arguments.push_back(Known(text));
    ReadFiles("files", false, &out);
    ReadFiles("first_files", true, &out);
    const Node* const policy = map_.Any("policy", Need::kRequired);
    if (policy != nullptr) out.policy = *policy;
    EachString(&out.policy, [&](Node* node) { CheckKnown(node->text, node->line, "policy"); });
    map_.Finish();
    return out;
  }

 private:
  std::string Required(std::string_view name) {
    const std::optional<Text> text = map_.String(name, Need::kRequired);
    if (text && text->value.empty()) source_.Invalid(text->line, text->key, "must not be empty");
    return text ? text->value : "";
  }

  void ReadModels(MapReader models, AgentProfile* out) {
    out->api = models.Enum<std::string>("api",
                                        {{"anthropic", "anthropic"},
                                         {"openai-chat", "openai-chat"},
                                         {"openai-responses", "openai-responses"},
                                         {"gemini", "gemini"}},
                                        "", Need::kRequired);
    const auto read = [&](std::string_view name) {
      std::optional<Text> text = models.String(name, Need::kRequired);
      return text ? *text : Text{};
    };
    const Text server = read("server");
    if (const Result<ServerPlace> place = ParseServer(server.value);
        !place.ok() && !server.key.empty()) {
      source_.Invalid(server.line, server.key, place.status().message());
    }
    out->server = server.value;
    out->model = read("model").value;
    out->key = read("key").value;
    models.Finish();
  }

  void ReadFiles(std::string_view name, bool keep, AgentProfile* out) {
    for (const auto& [key, text] : map_.StringMap(name)) {
      if (!IsBelow({key.name, key.line, text.key})) continue;
      out->files.push_back({key.name, Known(text), keep});
    }
  }

  bool IsBelow(const Text& path) {
    std::string_view rest = path.value;
    bool good = !rest.empty();
    while (good) {
      const size_t slash = rest.find('/');
      const std::string_view part = rest.substr(0, slash);
      good = !part.empty() && part != "." && part != "..";
      if (slash == std::string_view::npos) break;
      rest.remove_prefix(slash + 1);
    }
    if (!good) source_.Invalid(path.line, path.key, "must be a relative path without . and ..");
    return good;
  }

  std::string Known(const Text& text) {
    CheckKnown(text.value, text.line, text.key);
    return text.value;
  }

  void CheckKnown(std::string_view text, int line, const std::string& key) {
    const std::vector<std::string_view> names(std::begin(kProfileValues), std::end(kProfileValues));
    size_t from = 0;
    while (const std::optional<Variable> found = NextVariable(text, from)) {
      from = found->end;
      if (std::find(names.begin(), names.end(), found->name) != names.end()) continue;
      source_.Invalid(
          line, key,
          "unknown variable `${" + found->name + "}`, expected one of " + dialect::Quoted(names));
    }
  }

  const Source& source_;
  MapReader map_;
};

}  // namespace

std::optional<AgentProfile> ReadProfile(std::string_view text, const std::string& file,
                                        dialect::Problems* problems) {
  const std::optional<Node> root =
      dialect::ParseDocument(dialect::Format::kYaml, file, text, problems);
  if (!root) return std::nullopt;
  const Source source{.file = file,
                      .syntax = dialect::ProblemKind::kPolicy,
                      .problems = problems,
                      .meaning = dialect::ProblemKind::kPolicy};
  AgentProfile profile = Reader(&source, &*root).Read();
  if (!problems->empty()) return std::nullopt;
  return profile;
}

AgentProfile FillProfile(AgentProfile profile, const ProfileValues& values) {
  for (auto& [name, value] : profile.environment) value = Replace(value, values);
  for (std::string& argument : profile.arguments) argument = Replace(argument, values);
  for (HomeFile& file : profile.files) file.text = Replace(file.text, values);
  EachString(&profile.policy, [&](Node* node) { node->text = Replace(node->text, values); });
  return profile;
}

std::optional<dialect::Policy> ReadProfilePolicy(const AgentProfile& profile,
                                                 const dialect::PolicyContext& context,
                                                 dialect::Problems* problems) {
  return dialect::ReadPolicyPart(profile.policy, "policy", profile.file, context, problems);
}

Result<ServerPlace> ParseServer(const std::string& url) {
  constexpr std::string_view kScheme = "https://";
  const std::string_view rest = std::string_view(url).substr(std::min(url.size(), kScheme.size()));
  bool good = url.rfind(kScheme, 0) == 0 && !rest.ends_with('/');
  for (const char c : rest) {
    good = good && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    std::string_view("-._~/").find(c) != std::string_view::npos);
  }
  const size_t slash = std::min(rest.find('/'), rest.size());
  if (good && slash > 0) {
    return ServerPlace{std::string(rest.substr(0, slash)), std::string(rest.substr(slash))};
  }
  return InvalidArgument("\"" + url + "\": expected https://HOST or https://HOST/PATH");
}

}  // namespace odyssey::ctl
