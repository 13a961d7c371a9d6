// An agent's file comes with the bundle: whatever it says, no crash, and rules that pass its check
// are rules that Parse accepts at the start of a turn.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "policy/dialect/agent_file.h"
#include "policy/dialect/node.h"
#include "policy/dialect/schema.h"
#include "policy/rules/tool_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace dialect = odyssey::dialect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  dialect::Problems problems;
  const auto document =
      dialect::ParseDocument(dialect::Format::kYaml, "agent.yaml", text, &problems);
  if (!document) return 0;

  const dialect::Source source{"agent.yaml", dialect::ProblemKind::kYaml, &problems};
  const dialect::AgentSpec agent = dialect::ReadAgent(*document, source, {}, "");
  for (const dialect::Problem& problem : problems) ODY_CHECK(!dialect::ToString(problem).empty());
  if (!problems.empty()) return 0;
  ODY_CHECK(!agent.prompt.empty() && !agent.model.provider.empty());
  ODY_CHECK(odyssey::rules::Parse(agent.tools.allow, agent.tools.ask, agent.tools.deny).ok());
  return 0;
}
