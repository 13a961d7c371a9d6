#include "ctl/exec/exec_image.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/signal_fd.h"
#include "ctl/client/client.h"
#include "ctl/exec/exec_call.h"
#include "ctl/image/image_puller.h"
#include "ctl/image/image_signals.h"
#include "ctl/image_build/build_cell.h"
#include "ctl/image_build/project_image.h"
#include "ctl/policy/project_approval.h"

namespace odyssey::ctl {
namespace {

constexpr char kFailed[] = "image build failed: ";

uid_t OwnerOf(const ExecOptions& options) { return options.owner_uid.value_or(getuid()); }

// The verb, and where the image is named.
std::string NamingOf(const ExecOptions& options) {
  const std::string& name = options.sandbox.image.reference;
  const dialect::Place* const place = PlaceOfImage(options);
  if (place == nullptr) return options.verb + ": image " + name;
  if (place->file.empty()) return options.verb + " " + place->key + " " + name;
  return options.verb + ": " +
         dialect::ToString(
             {.file = place->file, .line = place->line, .key = place->key, .message = name});
}

std::string PolicyOf(const ExecOptions& options) {
  return options.verb + (options.policy_file.empty() ? "" : " --policy " + options.policy_file);
}

void UseImage(std::string digest, policy::SandboxRequest* sandbox) {
  sandbox->image.reference = std::move(digest);
  // odek's user is one of the image then.
  const std::string user = std::to_string(sandbox->user);
  if (std::exchange(sandbox->user, 0) != 0) sandbox->image.user = user + ":" + user;
}

// A policy in odek's format that has no image, and no Dockerfile beside it.
Status UseDefault(const PolicyAsker& asker, ExecOptions* options) {
  const bool odek = options->policy && options->policy->dialect == dialect::Dialect::kOdek;
  if (!odek || !options->sandbox.image.reference.empty()) return OkStatus();
  AnsweredBy by;
  ODY_ASSIGN_OR_RETURN(const answer::CeilingText ceiling, asker.AskCeiling(&by));
  if (!ceiling.odek_default.empty()) UseImage(ceiling.odek_default, &options->sandbox);
  return OkStatus();
}

int PullNamed(const Console& console, const Locations& locations, const ExecOptions& options) {
  const std::string& name = options.sandbox.image.reference;
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, locations);
  if (!client.ok()) return kExitOk;  // the command's own connection says why
  ImagePuller puller(console, *client, OwnerOf(options), options.pull);
  const Status status = puller.PullIfMissing(name);
  if (status.ok()) return kExitOk;
  if (const int signal = PendingSignal(ImageSignals()); signal != 0) {
    return kExitSignalBase + signal;
  }
  return CannotExec(console, {NamingOf(options), status.message(), puller.next()});
}

// `answer`: to what the project asks for.
int BuildProject(const Console& console, const Locations& locations, ProjectImage* image,
                 ProjectAnswer answer, ExecOptions* options) {
  const bool was_whole = image->ask().is_whole;
  Result<std::string> made = image->Make();
  if (const int signal = PendingSignal(BuildSignals()); signal != 0 && !made.ok()) {
    return kExitSignalBase + signal;
  }
  if (!made.ok()) {
    return CannotExec(console,
                      {PolicyOf(*options), kFailed + made.status().message(), image->next()});
  }
  if (answer == ProjectAnswer::kAlways && !was_whole) {
    const Status kept = KeepApproval(*options->policy, OwnerOf(*options), locations, image->ask());
    if (!kept.ok()) return CannotExec(console, {PolicyOf(*options), kept.message(), ""});
  }
  UseImage(*std::move(made), &options->sandbox);
  return kExitOk;
}

}  // namespace

int PrepareImage(const Console& console, const PolicyAsker& asker, ExecOptions* options) {
  const Locations& locations = asker.locations();
  std::optional<ProjectImage> image;
  ProjectAnswer answer = ProjectAnswer::kOnce;
  if (options->policy) {
    const dialect::Policy& policy = *options->policy;
    Result<std::optional<ProjectImage>> found = ProjectImage::Find(
        console, policy, options->sandbox, OwnerOf(*options), options->pull, locations);
    if (!found.ok()) {
      return CannotExec(console, {PolicyOf(*options), kFailed + found.status().message(), ""});
    }
    if (*found) image.emplace(*std::move(*found));
    const Result<ProjectAnswer> approved = ApproveProject(
        console, policy, OwnerOf(*options), locations, image ? &image->ask() : nullptr);
    if (!approved.ok()) {
      return CannotExec(console,
                        {PolicyOf(*options), approved.status().message(),
                         "docs/policy/dialects.md describes what a project's file may add."});
    }
    answer = *approved;
  }
  if (image) return BuildProject(console, locations, &*image, answer, options);
  if (const Status status = UseDefault(asker, options); !status.ok()) {
    return CannotExec(console, {PolicyOf(*options), status.message(), ""});
  }
  if (options->sandbox.image.reference.empty()) return kExitOk;
  return PullNamed(console, locations, *options);
}

void UseImageIfBuilt(const Console& console, const PolicyAsker& asker, ExecOptions* options) {
  if (!options->policy) return;
  std::string what = "Dockerfile.odek";
  const auto built = [&]() -> Result<bool> {
    ODY_ASSIGN_OR_RETURN(std::optional<ProjectImage> image,
                         ProjectImage::Find(console, *options->policy, options->sandbox,
                                            OwnerOf(*options), options->pull, asker.locations()));
    if (!image) {
      what = "the operator's default image";
      ODY_RETURN_IF_ERROR(UseDefault(asker, options));
      return true;
    }
    ODY_ASSIGN_OR_RETURN(std::optional<std::string> digest, image->FindBuilt());
    if (digest) UseImage(*std::move(digest), &options->sandbox);
    return digest.has_value();
  };
  const Result<bool> is_built = built();
  if (is_built.ok() && *is_built) return;
  options->sandbox.image.user.clear();
  const std::string why = is_built.ok() ? "is not built yet" : is_built.status().message();
  console.Warn("odyssey-ctl: " + what + ": " + Sanitize(why, Lines::kOne) +
               "; this is the plan without an image");
}

Status CheckImageUser(const ExecOptions& options) {
  const policy::ImageRoot& image = options.sandbox.image;
  const dialect::Place* const place = options.origins.Find("image.user");
  const bool typed = place != nullptr && place->file.empty();
  if (!typed || image.user.empty() || !image.reference.empty()) return OkStatus();
  return InvalidArgument(place->key + ": only with --image");
}

}  // namespace odyssey::ctl
