#include "agentd/tool/skill_tool.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "agentd/tool/arguments.h"
#include "agentd/tool/tool_result.h"
#include "common/base/utf8.h"
#include "common/os/file.h"

namespace odyssey::tools {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxContentBytes = 64 * 1024;
constexpr const policy::ToolRow& kRow = *policy::FindTool(policy::kSkill);

Json ListOf(const std::vector<dialect::SkillFile>& skills) {
  Json out = Json::array();
  for (const dialect::SkillFile& skill : skills) {
    out.push_back({{"name", skill.name}, {"description", skill.description}, {"path", skill.path}});
  }
  return out;
}

Result<Json> Load(const dialect::Bundle& bundle, const std::string& name) {
  if (bundle.skill_files.empty()) return FailedPrecondition("skills are not enabled");
  if (name.empty()) return Json{{"skills", ListOf(bundle.skill_files)}};
  const auto skill = std::find_if(bundle.skill_files.begin(), bundle.skill_files.end(),
                                  [&](const dialect::SkillFile& s) { return s.name == name; });
  if (skill == bundle.skill_files.end()) return NotFound("skill " + name + " not found");
  ODY_ASSIGN_OR_RETURN(std::string content,
                       ReadFile(bundle.directory + "/" + skill->path, dialect::kMaxFileBytes));
  const bool truncated = content.size() > kMaxContentBytes;
  if (truncated) content.resize(kMaxContentBytes);
  if (truncated) content.resize(CompleteUtf8Prefix(content));
  return Json{{"name", name},
              {"path", skill->path},
              {"content", std::move(content)},
              {"truncated", truncated}};
}

class SkillTool final : public Tool {
 public:
  model::ToolSpec Spec() const override {
    return {kRow.name, kRow.description, SchemaOf(kRow.arguments)};
  }

  Result<rules::ToolCall> ForRules(const std::string& arguments_json) const override {
    ODY_ASSIGN_OR_RETURN(const Arguments given, Arguments::Parse(kRow.arguments, arguments_json));
    const std::string name = given.String(kRow.subject);
    return rules::ToolCall{kRow.name, "", {name}};
  }

  Result<ToolResult> Run(const std::string& arguments_json, ToolContext& context) const override {
    ODY_ASSIGN_OR_RETURN(const Arguments given, Arguments::Parse(kRow.arguments, arguments_json));
    const Result<Json> result = Load(*context.bundle, given.String(kRow.subject));
    if (!result.ok()) return Failure(result.status());
    return ToolResult{result->dump(-1, ' ', false, Json::error_handler_t::replace), true};
  }
};

}  // namespace

std::unique_ptr<Tool> NewSkillTool() { return std::make_unique<SkillTool>(); }

std::string SystemPrompt(const std::string& prompt, const dialect::Bundle& bundle) {
  if (bundle.skill_files.empty()) return prompt;
  std::string out = prompt +
                    "\n\n---\n\n## Skills\n\nThe following skills extend your capabilities. To use "
                    "any skill, read its `SKILL.md` using the `Skill` tool.\n";
  for (const dialect::SkillFile& skill : bundle.skill_files) {
    out += "\n- " + skill.name + (skill.description.empty() ? "" : ": " + skill.description);
  }
  return out;
}

}  // namespace odyssey::tools
