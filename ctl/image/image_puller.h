#ifndef ODYSSEY_CTL_IMAGE_IMAGE_PULLER_H_
#define ODYSSEY_CTL_IMAGE_IMAGE_PULLER_H_

// Pulls an image that a command needs and the store has not, as `image pull` does. A name that the
// store has is never refreshed.

#include <sys/types.h>

#include <string>

#include "common/base/status.h"
#include "ctl/base/console.h"
#include "ctl/base/pull_option.h"
#include "ctl/client/client.h"

namespace odyssey::ctl {

class ImagePuller final {
 public:
  // `owner`: whose image it becomes. `console` and `client` outlive it.
  ImagePuller(const Console& console, const Client& client, uid_t owner, PullWhen when)
      : console_(console), client_(client), owner_(owner), when_(when) {}

  // Whether the reference names a registry, and its image may be pulled.
  bool MayPull(const std::string& reference) const;

  // MayPull says so. Blocks; progress goes to stderr. After a failure the signals that end a pull
  // stay blocked: CANCELLED is by one that is pending. Caller must be single-threaded.
  Status Pull(const std::string& reference);

  // Pulls what the store answers NOT_FOUND for. OK too where the store has no image that may be
  // pulled, or gives no answer: the caller's own call says so.
  Status PullIfMissing(const std::string& reference);

  // What to do about the failure of the last pull; "": nothing that is known.
  const std::string& next() const { return next_; }

 private:
  const Console& console_;
  const Client& client_;
  const uid_t owner_;
  const PullWhen when_;
  std::string next_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_IMAGE_PULLER_H_
