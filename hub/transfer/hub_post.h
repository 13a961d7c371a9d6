#ifndef ODYSSEY_HUB_TRANSFER_HUB_POST_H_
#define ODYSSEY_HUB_TRANSFER_HUB_POST_H_

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/status.h"
#include "hub/transfer/hub_url.h"

namespace odyssey::transfer {

struct HubPost {
  HubUrl hub;
  std::string path;
  std::string body;   // JSON
  std::string token;  // empty: no Authorization
};

// How many bytes of the body were sent, and of the answer received. Called now and then.
using PostProgress = std::function<void(uint64_t sent, uint64_t received)>;

// The body of the hub's answer, of any 2xx. Blocks; follows no redirect. "http error: hub returned
// 404 Not Found: BODY"; UNAVAILABLE: no connection; RESOURCE_EXHAUSTED: more than `max_bytes`.
Result<std::string> PostToHub(const HubPost& post, size_t max_bytes,
                              const PostProgress& progress = {});

// INVALID_ARGUMENT: a byte that would end the header. The token is not in the message.
Status CheckToken(const std::string& token);

}  // namespace odyssey::transfer

#endif  // ODYSSEY_HUB_TRANSFER_HUB_POST_H_
