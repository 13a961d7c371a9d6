#include "ctl/doctor/probe_cells.h"

#include "policy/convert/sandbox_proto.h"
#include "policy/model/choice_names.h"
#include "policy/model/mode_name.h"

namespace odyssey::ctl {
namespace {

using policy::ExecutablesMode;
using policy::Mode;
using policy::Network;

std::string TreeName(ProbeTree tree) {
  switch (tree) {
    case ProbeTree::kMemory:
      return "memory";
    case ProbeTree::kDisk:
      return "disk";
    case ProbeTree::kHost:
      break;
  }
  return "host";
}

policy::Mount MountOf(const std::string& directory, const std::string& name) {
  policy::Mount mount;
  mount.source = directory + "/" + name;
  mount.target = "/probe/" + name;
  mount.access = name == "rw" ? policy::Access::kReadWrite : policy::Access::kReadOnly;
  mount.executable = name == "bin";
  return mount;
}

}  // namespace

std::string ProbeCellKind::Name() const {
  return std::string(policy::ModeName(mode)) + ", network " + policy::NetworkName(network) +
         ", executables " + policy::ExecutablesName(executables) + ", workspace " +
         (tree == ProbeTree::kHost ? "of the host"
                                   : (tree == ProbeTree::kDisk ? "on disk" : "in memory"));
}

std::vector<ProbeCellKind> ProbeCellKinds() {
  return {
      {Mode::kReadOnly, Network::kNone, ExecutablesMode::kStandard, ProbeTree::kMemory},
      {Mode::kWorkspaceWrite, Network::kNone, ExecutablesMode::kStandard, ProbeTree::kHost},
      {Mode::kWorkspaceWrite, Network::kFull, ExecutablesMode::kStandard, ProbeTree::kMemory},
      {Mode::kWorkspaceWrite, Network::kNone, ExecutablesMode::kAll, ProbeTree::kDisk},
      {Mode::kReadOnly, Network::kFull, ExecutablesMode::kAll, ProbeTree::kHost},
      {Mode::kWorkspaceWrite, Network::kNone, ExecutablesMode::kExplicit, ProbeTree::kMemory},
  };
}

supervisor::v1::PrepareCellRequest MakeProbeRequest(const ProbeCellKind& kind,
                                                    const std::string& directory,
                                                    const std::string& component,
                                                    bool bounds_memory) {
  policy::SandboxRequest sandbox;
  sandbox.mode = kind.mode;
  sandbox.network = kind.network;
  sandbox.executables_mode = kind.executables;
  for (const char* name : {"bin", "ro", "rw"}) sandbox.mounts.push_back(MountOf(directory, name));
  if (bounds_memory) sandbox.limits.memory_bytes = kProbeMemoryBytes;
  sandbox.limits.tmp_bytes = kProbeTmpBytes;
  sandbox.limits.pids = kProbePids;
  sandbox.limits.open_files = kProbeOpenFiles;

  supervisor::v1::PrepareCellRequest request;
  request.mutable_key()->set_agent_id("ctl");
  request.mutable_key()->set_kind("command");
  request.mutable_key()->set_component(component);
  *request.mutable_sandbox() = policy::ToProto(sandbox);
  if (kind.tree == ProbeTree::kHost) request.set_workspace(directory + "/workspace");
  request.set_ephemeral(kind.tree != ProbeTree::kDisk);
  return request;
}

std::vector<std::string> ProbeCellWords(const ProbeCellKind& kind) {
  return {std::string("mode=") + policy::ModeName(kind.mode),
          std::string("network=") + policy::NetworkName(kind.network),
          std::string("executables=") + policy::ExecutablesName(kind.executables),
          "tree=" + TreeName(kind.tree),
          "workspace=/workspace",
          "bin=/probe/bin",
          "ro=/probe/ro",
          "rw=/probe/rw",
          "pids=" + std::to_string(kProbePids),
          "tmp_bytes=" + std::to_string(kProbeTmpBytes),
          "open_files=" + std::to_string(kProbeOpenFiles)};
}

}  // namespace odyssey::ctl
