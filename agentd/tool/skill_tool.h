#ifndef ODYSSEY_AGENTD_TOOL_SKILL_TOOL_H_
#define ODYSSEY_AGENTD_TOOL_SKILL_TOOL_H_

#include <memory>
#include <string>

#include "agentd/tool/tool.h"
#include "policy/dialect/bundle.h"

namespace odyssey::tools {

// Skill: without a name the bundle's skills, with one its text, from the installed bundle.
std::unique_ptr<Tool> NewSkillTool();

// The agent's prompt, and a section that lists the skills if the bundle has any.
std::string SystemPrompt(const std::string& prompt, const dialect::Bundle& bundle);

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_SKILL_TOOL_H_
