#ifndef ODYSSEY_CTL_IMAGE_BUILD_PROJECT_IMAGE_H_
#define ODYSSEY_CTL_IMAGE_BUILD_PROJECT_IMAGE_H_

// The image that a policy in odek's format asks for without naming it: ./Dockerfile.odek, built.
// A project's file, so that a person approves what it makes before anything is built.

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "ctl/base/console.h"
#include "ctl/base/locations.h"
#include "ctl/base/pull_option.h"
#include "ctl/policy/project_approval.h"
#include "policy/dialect/policy.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

class ProjectImage final {
 public:
  // Nothing: the policy is not odek's, an image is named, or there is no Dockerfile.odek. Reads it
  // and its context; pulls and builds nothing. Commands would have the network and the limits of
  // `request`. `console` outlives it. Caller must be single-threaded.
  static Result<std::optional<ProjectImage>> Find(const Console& console,
                                                  const dialect::Policy& policy,
                                                  const policy::SandboxRequest& request,
                                                  uid_t owner, PullWhen pull,
                                                  const Locations& locations);
  ProjectImage(ProjectImage&&) noexcept;
  ~ProjectImage();

  // What a person is asked about. Make changes it where it pulls: the digests of what was pulled
  // are part of it.
  const ProjectBuild& ask() const;
  // The digest of the one that was built before; nothing: it was not.
  Result<std::optional<std::string>> FindBuilt();
  // The digest, of the one that was built before or of a new one. CANCELLED: by a signal, which
  // stays pending.
  Result<std::string> Make();
  // What to do about the failure of a pull; "": nothing that is known.
  const std::string& next() const;

 private:
  struct State;
  explicit ProjectImage(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_PROJECT_IMAGE_H_
