#include "agentd/scenario/bundle_scenarios.h"

#include <optional>
#include <set>
#include <utility>

#include "common/base/refusal.h"
#include "policy/dialect/project_root.h"

namespace odyssey::scenario {
namespace {

struct File {
  std::string path;  // in the bundle, normalised
  std::string text;
};

// What is wrong begins with the field of the agent that it is about.
Result<File> ReadNamed(const std::string& directory, const dialect::ModelSpec& model,
                       const dialect::DirectoryOpener& open) {
  if (model.config != "null" && model.config != "{}") {
    return Refused(Code::kInvalidArgument, "model.config", "", "provider script has no options");
  }
  const dialect::ProjectRoot root(directory, open);
  ODY_ASSIGN_OR_RETURN(std::string path,
                       root.Check("model.name", model.name, dialect::Wanted::kFile));
  Result<std::string> text = root.Read(path);
  if (!text.ok()) return Refused(Code::kInvalidArgument, "model.name", "", text.status().message());
  return File{std::move(path), *std::move(text)};
}

// What ReadNamed says, where the agent's file says it.
dialect::Problem ProblemOf(const dialect::AgentSpec& agent, const Status& status) {
  const std::string& field = status.detail().field;
  const dialect::Place* place = agent.origins.Find(field);
  dialect::Problem problem{.file = agent.path, .key = field};
  if (place != nullptr) problem = {.file = place->file, .line = place->line, .key = place->key};
  problem.message = WhyRefused(status);
  return problem;
}

}  // namespace

Result<Scenario> LoadScenario(const std::string& directory, const dialect::ModelSpec& model) {
  ODY_ASSIGN_OR_RETURN(const File file, ReadNamed(directory, model, nullptr));
  dialect::Problems problems;
  std::optional<Scenario> scenario = ParseScenario(file.path, file.text, &problems);
  if (scenario) return *std::move(scenario);
  std::string message = "scenario " + dialect::ToString(problems.front());
  if (problems.size() > 1) message += " (and " + std::to_string(problems.size() - 1) + " more)";
  return InvalidArgument(std::move(message));
}

dialect::Problems ValidateScenarios(const dialect::Bundle& bundle,
                                    const dialect::DirectoryOpener& open) {
  const std::string& directory = bundle.directory;
  const std::string prefix =
      directory.empty() || directory.back() == '/' ? directory : directory + "/";
  dialect::Problems problems;
  std::set<std::string> read;
  for (const dialect::AgentSpec& agent : bundle.agents) {
    const bool named = agent.model.name.find_first_not_of(" \t\r\n") != std::string::npos;
    if (agent.model.provider != kProvider || !named) continue;  // without a name: reported already
    const Result<File> file = ReadNamed(directory, agent.model, open);
    if (!file.ok()) {
      problems.push_back(ProblemOf(agent, file.status()));
    } else if (read.insert(file->path).second) {
      (void)ParseScenario(prefix + file->path, file->text, &problems);
    }
  }
  return problems;
}

}  // namespace odyssey::scenario
