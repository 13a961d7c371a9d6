#include "agentd/session/turn_tools.h"

#include <algorithm>

#include "agentd/mcp_client/servers.h"
#include "common/base/join.h"
#include "common/base/utf8.h"

namespace odyssey::session {

std::vector<mcp_client::ServerPtr> TurnTools::Servers() const {
  return runtime_->servers->Of(session_id_, setup_->bundle->spec.mcp_servers);
}

// The rules of the agent and of those that called it.
bool TurnTools::IsOffered(const std::string& name) const {
  return rules::IsOffered(setup_->rules, name) &&
         std::all_of(setup_->bounds.begin(), setup_->bounds.end(),
                     [&](const rules::ToolRules& bound) { return rules::IsOffered(bound, name); });
}

void TurnTools::List(const mcp_client::Place& place, mcp_client::Freshness freshness,
                     const std::stop_token& stop) {
  served_.clear();
  for (const mcp_client::ServerPtr& server : Servers()) {
    if (stop.stop_requested()) return;
    if (!server->List(place, freshness, stop).ok()) continue;  // its problem is kept
    for (mcp_client::ToolDefinition& tool : server->tools()) {
      const std::string name = tool.offered_name;
      if (!IsOffered(name)) continue;
      served_[name] =
          std::make_unique<mcp_client::ServedTool>(server, std::move(tool), place.wall_clock_ms);
    }
  }
}

std::string TurnTools::Note() const {
  std::vector<std::string> out;
  for (const mcp_client::ServerPtr& server : Servers()) {
    const Status problem = server->problem();
    std::string of =
        server->spec().name + ": " +
        (problem.ok() ? std::to_string(server->tools().size()) + " tools" : problem.message());
    for (const mcp_client::RefusedTool& refused : server->refused()) {
      of += ", without " + refused.name + ": " + refused.why;
    }
    out.push_back(std::move(of));
  }
  return SanitizeUtf8(Join(out, "; "));
}

const tools::Tool* TurnTools::Find(const std::string& name) const {
  const std::vector<std::string>& offered = setup_->offered;
  if (std::find(offered.begin(), offered.end(), name) != offered.end()) {
    return runtime_->tools->Find(name);
  }
  return FindServed(name);
}

const mcp_client::ServedTool* TurnTools::FindServed(const std::string& name) const {
  const auto found = served_.find(name);
  return found == served_.end() ? nullptr : found->second.get();
}

Status TurnTools::WhyMissing(const std::string& name) const {
  for (const mcp_client::ServerPtr& server : Servers()) {
    const std::string prefix = mcp_client::OfferedName(server->spec().name, "");
    if (name.rfind(prefix, 0) != 0) continue;
    if (!server->problem().ok()) return NotFound(name + ": " + server->problem().message());
    for (const mcp_client::RefusedTool& refused : server->refused()) {
      if (prefix + refused.name == name) return NotFound(name + " is not offered: " + refused.why);
    }
  }
  return NotFound("there is no tool \"" + name + "\"; available: " + Join(Names(), ", "));
}

std::vector<std::string> TurnTools::Names() const {
  std::vector<std::string> out = setup_->offered;
  for (const auto& [name, tool] : served_) out.push_back(name);
  return out;
}

}  // namespace odyssey::session
