#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_TUNNEL_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_TUNNEL_H_

#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "supervisor/egress/protocol/client_hello.h"
#include "supervisor/egress/worker/worker.h"

namespace odyssey::egress {

// The code of a server that could not be reached, or did not answer as one.
inline constexpr char kUnreachable[] = "upstream_unreachable";
// Of a request whose body stopped coming.
inline constexpr char kRequestTimeout[] = "request_timeout";
inline constexpr char kStalled[] = "the request's body did not come";

// Where a connection goes, as it was decided, and on which way the client came.
struct Passage {
  Connection to;
  std::string way;                               // as of Record
  std::shared_ptr<const Worker::Policy> policy;  // whose rules `decision` points to
  Decision decision;
  // Of a refusal by the policy, the broker or the worker itself; "": it is not refused.
  std::string code, reason;
  egress_wire::InferenceRecord inference;
  std::string credential;               // as of Record
  std::chrono::seconds retry_after{0};  // of a refusal by a budget; 0: waiting does not help
};

// Decides on the connection, by the policy of now.
void Decide(Worker* worker, Passage* passage);

// The passage, refused for another reason than the policy's decision.
Passage Refused(Passage passage, std::string code, std::string reason);
Passage Refused(Passage passage, const Dialled& dialled);
Passage Refused(Passage passage, const Excess& excess);

// What a client that speaks HTTP gets: 429 of a budget, 503 of a bound of egress, 502 of a server,
// else 403.
int HttpStatusOf(const Passage& refused);

// TLS's alert for a name that is not served.
inline constexpr std::string_view kUnrecognizedName{"\x15\x03\x01\x00\x02\x02\x70", 7};

// Why a client's first message of TLS, of state kHello or kBad, does not lead to the passage's
// host; both are "" if it does.
struct HelloRefusal {
  std::string code, reason;
};
HelloRefusal JudgeHello(const Passage& passage, const protocol::ReceivedClientHello& received);

// Why a client whose first bytes are no TLS is refused: on port 443; both are "" elsewhere.
HelloRefusal JudgeNoHello(const Passage& passage);

// Of the endpoint that decided.
std::string KeyOf(const Decision& decision);

egress_wire::Record RecordOf(const Passage& passage);

// Bytes between the client and what was dialled for it. The first ones of the client, `first` among
// them, must not lead elsewhere: a ClientHello names the passage's host, and port 443 has TLS,
// unless the rule leaves TLS alone.
asio::awaitable<void> ServeTunnel(Worker* worker, Passage passage, Tcp::socket client,
                                  Dialled upstream, std::string first);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_TUNNEL_H_
