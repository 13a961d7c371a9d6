#ifndef ODYSSEY_CTL_SESSION_SESSION_CALLS_H_
#define ODYSSEY_CTL_SESSION_SESSION_CALLS_H_

// Calls of agentd that more than one command makes. A failure has been reported when they return,
// but those of TryCreateSession and TrySubmitTurn are the caller's to report.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ctl/base/console.h"
#include "ctl/base/locations.h"
#include "ctl/base/pull_option.h"
#include "ctl/client/client.h"
#include "odyssey/agent/v1/session.stub.h"

namespace odyssey::ctl {

struct NewSession {
  std::string bundle;             // as typed: a bundle directory, a file of one, or a reference
  std::string cwd;                // as typed; "": here
  std::string cwd_key = "--cwd";  // its name in messages: an option, or a field of a protocol
  std::string agent_id;
  bool allow_danger = false;
  bool review = false;
  uint64_t approval_timeout_ms = 0;  // 0: the operator's
  agent::v1::Budget budget = {};
  // Of an image that the bundle names: only where a person waits for it.
  PullWhen pull = PullWhen::kNever;
  Locations locations = {};  // of the supervisor, which is asked for images
};

// What was made, or why it was not.
template <typename T>
using Made = std::variant<T, Failure>;

// Resolves the paths, reads the variables that the manifest exports, pulls its image, and makes the
// session. A signal that ends the pull stays pending.
// `console`: of warnings.
Made<agent::v1::Session> TryCreateSession(const Console& console, const Client& client,
                                          const agent::v1::SessionServiceStub& stub,
                                          const NewSession& session);
// Without a report where a signal ended the pull.
std::optional<agent::v1::Session> CreateSession(const Console& console, const Client& client,
                                                const agent::v1::SessionServiceStub& stub,
                                                const NewSession& session);

struct SessionImport {
  std::string file;    // as typed
  std::string bundle;  // as typed, as NewSession's; "": the file's reference
  std::string cwd;     // as typed; "": here
};

// Sends the file, and says where the session differs from it.
std::optional<agent::v1::Session> ImportSession(const Console& console, const Client& client,
                                                const agent::v1::SessionServiceStub& stub,
                                                const SessionImport& what);

// Whether what a person named can be the bundle of that session, which is pinned: its id is
// compared, its version and digest where the name has one. INVALID_ARGUMENT: it is another one.
Status CheckSameBundle(const std::string& named, const agent::v1::Session& session);

// A turn's prompt, given as an argument or by --prompt: one of them. "-" reads stdin.
Result<std::string> ReadPrompt(const std::string& argument, const std::string& option);

// The session's turns, with their histories.
Result<std::vector<agent::v1::Turn>> ListTurns(const agent::v1::SessionServiceStub& stub,
                                               const std::string& session_id);

struct TurnTerms {
  uint64_t deadline_ms = 0;     // 0: none
  std::string idempotency_key;  // "": none
};

// Queues a turn. To a session of one's own it brings the variables that its bundle reads, as they
// are here now.
Made<agent::v1::SubmitTurnResponse> TrySubmitTurn(const Client& client,
                                                  const agent::v1::SessionServiceStub& stub,
                                                  const std::string& session_id,
                                                  const std::string& prompt,
                                                  const TurnTerms& terms);
std::optional<agent::v1::SubmitTurnResponse> SubmitTurn(
    const Console& console, const Client& client, const agent::v1::SessionServiceStub& stub,
    const std::string& session_id, const std::string& prompt, const TurnTerms& terms);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_SESSION_SESSION_CALLS_H_
