#include "ctl/sandbox_convert.h"

namespace odyssey::ctl {
namespace {

policy::v1::ExecutablesMode ToProto(policy::ExecutablesMode mode) {
  switch (mode) {
    case policy::ExecutablesMode::kExplicit:
      return policy::v1::EXECUTABLES_MODE_EXPLICIT;
    case policy::ExecutablesMode::kStandard:
      return policy::v1::EXECUTABLES_MODE_STANDARD;
    case policy::ExecutablesMode::kAll:
      return policy::v1::EXECUTABLES_MODE_ALL;
  }
  return policy::v1::EXECUTABLES_MODE_UNSPECIFIED;
}

void Fill(const policy::Limits& from, policy::v1::Limits* to) {
  to->set_memory_bytes(from.memory_bytes);
  to->set_cpu_millis(from.cpu_millis);
  to->set_pids(from.pids);
  to->set_wall_clock_ms(from.wall_clock_ms);
  to->set_cpu_seconds(from.cpu_seconds);
  to->set_open_files(from.open_files);
  to->set_tmp_bytes(from.tmp_bytes);
}

}  // namespace

policy::v1::Sandbox ToProto(const policy::SandboxRequest& request) {
  policy::v1::Sandbox out;
  out.set_mode(request.mode == policy::Mode::kReadOnly ? policy::v1::MODE_READ_ONLY
                                                       : policy::v1::MODE_WORKSPACE_WRITE);
  out.set_network(request.network == policy::Network::kNone ? policy::v1::NETWORK_NONE
                                                            : policy::v1::NETWORK_FULL);
  out.set_executables_mode(ToProto(request.executables_mode));
  for (const std::string& executable : request.executables) out.add_executables(executable);
  for (const policy::Mount& mount : request.mounts) {
    policy::v1::Mount* to = out.add_mounts();
    to->set_source(mount.source);
    to->set_target(mount.target);
    to->set_access(mount.access == policy::Access::kReadOnly ? policy::v1::ACCESS_READ_ONLY
                                                             : policy::v1::ACCESS_READ_WRITE);
  }
  for (const auto& [name, value] : request.env) (*out.mutable_env())[name] = value;
  Fill(request.limits, out.mutable_limits());
  return out;
}

}  // namespace odyssey::ctl
