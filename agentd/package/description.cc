#include "agentd/package/description.h"

namespace odyssey::package {

void Describe(const dialect::Bundle& spec, const std::vector<BundleFile>& files,
              agent::v1::Bundle* out) {
  out->set_readme(spec.readme);
  const dialect::SandboxSpec& sandbox = spec.sandbox;
  for (const auto& [name, source] : sandbox.env) out->add_env_sources(source);
  const bool direct = sandbox.mode != dialect::SandboxMode::kDangerFullAccess &&
                      sandbox.writes != policy::Writes::kReview;
  for (const std::string& mount : sandbox.write_mounts) {
    if (direct) out->add_direct_writes(mount);
  }
  for (size_t i = 0; i < spec.agents.size(); ++i) {
    const dialect::AgentSpec& from = spec.agents[i];
    agent::v1::BundleAgent& added = *out->add_agents();
    added.set_id(from.id);
    added.set_description(from.description);
    added.set_model_provider(from.model.provider);
    added.set_model_id(from.model.name);
    added.set_is_default(i == spec.default_agent);
  }
  for (const BundleFile& file : files) {
    agent::v1::BundleFile& added = *out->add_files();
    added.set_path(file.path);
    added.set_bytes(file.bytes);
    added.set_executable(file.executable);
  }
}

}  // namespace odyssey::package
