#include "agentd/mcp_client/servers.h"

#include <algorithm>

namespace odyssey::mcp_client {

std::vector<ServerPtr> Servers::Of(const std::string& session_id,
                                   const std::vector<dialect::McpServerSpec>& specs) {
  if (specs.empty()) return {};
  std::lock_guard lock(mutex_);
  if (stopped_) return {};
  std::vector<ServerPtr>& servers = sessions_[session_id];
  if (servers.empty()) {
    for (const dialect::McpServerSpec& spec : specs) {
      servers.push_back(std::make_shared<Server>(sandbox_, spec));
    }
  }
  return servers;
}

std::vector<ServerPtr> Servers::Known(const std::string& session_id) const {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(session_id);
  return found == sessions_.end() ? std::vector<ServerPtr>() : found->second;
}

uint32_t Servers::CountIn(const std::string& session_id, const std::string& cell_id) const {
  const std::vector<ServerPtr> servers = Known(session_id);
  return static_cast<uint32_t>(
      std::count_if(servers.begin(), servers.end(),
                    [&](const ServerPtr& server) { return server->RunsIn(cell_id); }));
}

void Servers::EndProcesses(const std::string& session_id) {
  for (const ServerPtr& server : Known(session_id)) server->End();
}

void Servers::Forget(const std::string& session_id) {
  EndProcesses(session_id);
  std::lock_guard lock(mutex_);
  sessions_.erase(session_id);
}

void Servers::Stop() {
  std::vector<ServerPtr> all;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    for (const auto& [id, servers] : sessions_)
      all.insert(all.end(), servers.begin(), servers.end());
  }
  for (const ServerPtr& server : all) server->End();
}

}  // namespace odyssey::mcp_client
