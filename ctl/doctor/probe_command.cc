#include "ctl/doctor/probe_command.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/base/exit_code.h"
#include "ctl/base/program_path.h"
#include "ctl/client/client.h"
#include "ctl/doctor/probe_canaries.h"
#include "ctl/doctor/probe_host_words.h"
#include "ctl/doctor/probe_run.h"
#include "ctl/doctor/probe_supervisor.h"
#include "ctl/doctor/weaknesses.h"
#include "odyssey/supervisor/v1/image.pb.h"
#include "odyssey/supervisor/v1/image.stub.h"
#include "policy/compile/protection.h"

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;

// A directory of our own, with everything in it gone in the end.
class TemporaryDirectory final {
 public:
  TemporaryDirectory() : path_((fs::temp_directory_path() / "odyssey-probe-XXXXXX").string()) {
    made_ = mkdtemp(path_.data()) != nullptr && chmod(path_.c_str(), 0755) == 0;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (made_) fs::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  bool made() const { return made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

// What is protected in a workspace, as files and, where a directory is meant, directories.
std::vector<std::string> ProtectedNames() {
  static constexpr std::string_view kDirectories[] = {
      ".git/hooks", ".githooks", ".husky", ".vscode", ".idea", ".claude", ".cursor", ".mvn"};
  std::vector<std::string> names;
  for (const compile::ProtectedName& name : compile::ProjectNames()) {
    const bool directory = std::find(std::begin(kDirectories), std::end(kDirectories), name.path) !=
                           std::end(kDirectories);
    names.push_back(std::string(name.path) + (directory ? "/" : ""));
  }
  return names;
}

// The supervisor to ask: the one that runs, or one that is started for this.
struct Supervisor {
  Locations locations;
  std::unique_ptr<ProbeSupervisor> started;
  std::string description;
};

Result<Supervisor> FindSupervisor(const Locations& locations, const ProbeCanaries& canaries,
                                  const std::string& directory) {
  const Status running = Client::Connect(Daemon::kSupervisor, locations).status();
  if (running.ok()) {
    return Supervisor{locations, nullptr, "the supervisor at " + locations.supervisor_socket};
  }
  if (running.code() != Code::kUnavailable && running.code() != Code::kNotFound) return running;
  Supervisor out;
  ODY_ASSIGN_OR_RETURN(out.started,
                       ProbeSupervisor::Start(directory, canaries.Variable(), canaries.Secret()));
  out.locations = locations;
  out.locations.supervisor_socket = out.started->socket();
  out.locations.state = out.started->state();
  out.description =
      "a supervisor that was started for this: none answers at " + locations.supervisor_socket;
  return out;
}

std::vector<std::string> HostWords(const Locations& locations) {
  std::vector<std::string> words = ProbeHostWords();
  words.push_back("socket=" + locations.supervisor_socket);
  words.push_back("socket=" + locations.agentd_socket);
  words.push_back("own=" + locations.state);
  words.push_back("own=" + fs::path(locations.supervisor_socket).parent_path().string());
  return words;
}

// What the probes have to know of the image that is their root.
Result<std::vector<std::string>> ImageWords(const Client& client, const std::string& image) {
  std::vector<std::string> words;
  if (image.empty()) return words;
  supervisor::v1::InspectImageRequest request;
  request.set_owner_uid(getuid());
  request.set_reference(image);
  supervisor::v1::InspectImageResponse response;
  ODY_RETURN_IF_ERROR(supervisor::v1::ImagesStub(client.channel())
                          .InspectImage({kQuickCallMs}, request, &response));
  words.push_back("root=image");
  for (const std::string& variable : response.image().env()) {
    words.push_back("image_variable=" + variable.substr(0, variable.find('=')));
  }
  return words;
}

Status Probe(const Invocation& call, ProbeReport* report) {
  StatusLine line(*call.console);
  ProbeInterrupt interrupt;
  const TemporaryDirectory directory;
  if (!directory.made()) return ErrnoStatus(errno, "make a directory " + directory.path());
  ODY_ASSIGN_OR_RETURN(const std::string program, FindProgram("odyssey-probe"));
  // In this order: canaries and the supervisor fork, so while there is one thread.
  ODY_ASSIGN_OR_RETURN(const std::unique_ptr<ProbeCanaries> canaries,
                       ProbeCanaries::Lay({.directory = directory.path(),
                                           .program = program,
                                           .protected_names = ProtectedNames()}));
  ODY_ASSIGN_OR_RETURN(const Supervisor supervisor,
                       FindSupervisor(call.locations, *canaries, directory.path()));
  report->supervisor = "probing " + supervisor.description;
  ODY_ASSIGN_OR_RETURN(const Client client,
                       Client::Connect(Daemon::kSupervisor, supervisor.locations));
  const supervisor::v1::SupervisorStub stub(client.channel());
  supervisor::v1::GetInfoResponse info;
  ODY_RETURN_IF_ERROR(stub.GetInfo({kQuickCallMs}, {}, &info));
  const std::string image = call.options.Text("image");
  std::vector<std::string> host_words = HostWords(supervisor.locations);
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> image_words, ImageWords(client, image));
  host_words.insert(host_words.end(), image_words.begin(), image_words.end());
  const Status status = RunProbes({.calls = {stub, &interrupt},
                                   .canaries = canaries.get(),
                                   .directory = directory.path(),
                                   .host_words = std::move(host_words),
                                   .weaknesses = WeaknessesIn(info),
                                   .image = image},
                                  &line, report);
  return interrupt.signal() == 0 ? status : Cancelled("interrupted");
}

}  // namespace

int ProbeCommand(const Invocation& call) {
  const Console& console = *call.console;
  ProbeReport report;
  const Status status = Probe(call, &report);
  if (!status.ok()) {
    return console.Fail(
        {"doctor --probe", status.message(), "odyssey-ctl doctor lists what this host lacks."});
  }
  if (console.json) {
    console.PrintJson(ProbeReportToJson(report));
  } else {
    console.Print(FormatProbeReport(report, call.options.Has("verbose"), console.color_out));
  }
  return report.Good() ? kExitOk : kExitFailed;
}

}  // namespace odyssey::ctl
