#ifndef ODYSSEY_HUB_TRANSFER_HUB_URL_H_
#define ODYSSEY_HUB_TRANSFER_HUB_URL_H_

#include <string>

#include "common/base/status.h"

namespace odyssey::transfer {

struct HubUrl {
  std::string base;  // without a slash at the end
  bool loopback = false;
};

// "https://HOST[:PORT]"; http to localhost, 127.0.0.1 and [::1] alone. INVALID_ARGUMENT otherwise,
// without the URL where it may hold a password. Pure.
Result<HubUrl> ParseHubUrl(const std::string& url);

}  // namespace odyssey::transfer

#endif  // ODYSSEY_HUB_TRANSFER_HUB_URL_H_
