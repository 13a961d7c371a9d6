#include "ctl/image_build/project_image.h"

#include <utility>
#include <vector>

#include "ctl/base/signal_fd.h"
#include "ctl/client/client.h"
#include "ctl/image_build/build_cell.h"
#include "ctl/image_build/build_files.h"
#include "ctl/image_build/build_progress.h"
#include "ctl/image_build/prepared_build.h"
#include "ctl/image_build/supervisor_store.h"

namespace odyssey::ctl {
namespace {

constexpr char kFile[] = "Dockerfile.odek";
constexpr char kRepository[] = "odek-sandbox";

const char* NetworkText(policy::Network network) {
  switch (network) {
    case policy::Network::kFull:
      return "the host's";
    case policy::Network::kEgress:
      return "the policy's endpoints";
    case policy::Network::kNone:
      break;
  }
  return "none";
}

// Of the policy what commands of a build have: no variables, no mounts, no credentials.
policy::SandboxRequest ForBuild(const policy::SandboxRequest& request) {
  policy::SandboxRequest out;
  out.network = request.network;
  out.egress = request.egress;
  out.limits = request.limits;
  out.unsaid_limits = request.unsaid_limits;
  out.landlock = request.landlock;
  return out;
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : "; ") + text;
  return out;
}

}  // namespace

struct ProjectImage::State {
  State(const Console& console, Client connected, UniqueFd signal_fd, uid_t owner, PullWhen pull)
      : client(std::move(connected)),
        signals(std::move(signal_fd)),
        progress(console),
        puller(console, client, owner, pull) {}

  void SetAsk();

  Client client;
  UniqueFd signals;
  BuildProgress progress;
  ImagePuller puller;
  std::optional<SupervisorStore> store;
  std::unique_ptr<PreparedBuild> build;
  std::string directory, network;
  ProjectBuild ask;
};

void ProjectImage::State::SetAsk() {
  const std::string bases = Joined(build->bases());
  ask = {.directory = directory,
         .line = std::string(kFile) + ": build an image and run in it; of " +
                 (bases.empty() ? "nothing" : bases) + "; network of its commands: " + network,
         .digest = build->key(),
         .is_whole = !build->has_missing()};
}

ProjectImage::ProjectImage(std::unique_ptr<State> state) : state_(std::move(state)) {}
ProjectImage::ProjectImage(ProjectImage&&) noexcept = default;
ProjectImage::~ProjectImage() = default;

Result<std::optional<ProjectImage>> ProjectImage::Find(const Console& console,
                                                       const dialect::Policy& policy,
                                                       const policy::SandboxRequest& request,
                                                       uid_t owner, PullWhen pull,
                                                       const Locations& locations) {
  if (policy.dialect != dialect::Dialect::kOdek || !request.image.reference.empty()) {
    return std::optional<ProjectImage>();
  }
  NamedPlaces places;
  const Walk& here = places.Look(".");
  ODY_RETURN_IF_ERROR(here.status);
  const Walk& file = places.Look(kFile);
  if (file.status.code() == Code::kNotFound) return std::optional<ProjectImage>();
  ODY_ASSIGN_OR_RETURN(BuildFiles files, ReadBuildFiles(kFile, ".", Links::kSystem, &places));
  ODY_ASSIGN_OR_RETURN(const std::string cell, NewBuildCell());
  ODY_ASSIGN_OR_RETURN(Client client, Client::Connect(Daemon::kSupervisor, locations));
  auto state = std::make_unique<State>(console, std::move(client), MakeSignalFd(BuildSignals()),
                                       owner, pull);
  state->store.emplace(state->client, owner, ForBuild(request), cell, state->signals.get(),
                       &state->progress, &state->puller);
  std::vector<std::string> problems;
  Result<std::unique_ptr<PreparedBuild>> build = PreparedBuild::Make(
      std::move(files), {}, "", &*state->store, state->signals.get(), &problems);
  if (!problems.empty()) return InvalidArgument(Joined(problems));
  ODY_RETURN_IF_ERROR(build.status());
  state->build = *std::move(build);
  state->directory = here.name;
  state->network = NetworkText(request.network);
  state->SetAsk();
  return std::optional<ProjectImage>(ProjectImage(std::move(state)));
}

const ProjectBuild& ProjectImage::ask() const { return state_->ask; }

const std::string& ProjectImage::next() const { return state_->puller.next(); }

Result<std::optional<std::string>> ProjectImage::FindBuilt() {
  if (state_->build->has_missing()) return std::optional<std::string>();
  const Result<StoredImage> found = state_->store->Inspect(CacheName(*state_->build, kRepository));
  if (found.status().code() == Code::kNotFound) return std::optional<std::string>();
  ODY_RETURN_IF_ERROR(found.status());
  return std::optional<std::string>(found->digest);
}

Result<std::string> ProjectImage::Make() {
  ODY_RETURN_IF_ERROR(state_->build->PullMissing(&*state_->store));
  state_->SetAsk();
  const auto report = [this](size_t step, size_t steps, const std::string& text) {
    state_->progress.Step(step, steps, text);
  };
  const Result<BuiltImage> built = BuildOrFind(*state_->build, kRepository, {}, true,
                                               &*state_->store, state_->signals.get(), report);
  state_->progress.Done();
  ODY_RETURN_IF_ERROR(built.status());
  return built->digest;
}

}  // namespace odyssey::ctl
