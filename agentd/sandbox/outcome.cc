#include "agentd/sandbox/sandbox.h"

namespace odyssey::sandbox {

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kExited:
      return "exited";
    case Outcome::kSignalled:
      return "signalled";
    case Outcome::kTimedOut:
      return "timed_out";
    case Outcome::kOomKilled:
      return "oom_killed";
    case Outcome::kDenied:
      return "denied";
    case Outcome::kNotFound:
      return "not_found";
    case Outcome::kSetupFailed:
      return "setup_failed";
    case Outcome::kCancelled:
      return "cancelled";
  }
  return "setup_failed";
}

}  // namespace odyssey::sandbox
