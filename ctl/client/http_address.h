#ifndef ODYSSEY_CTL_CLIENT_HTTP_ADDRESS_H_
#define ODYSSEY_CTL_CLIENT_HTTP_ADDRESS_H_

// Where odyssey-http serves.

#include <string>

#include "common/base/status.h"
#include "ctl/base/locations.h"

namespace odyssey::ctl {

// "127.0.0.1:8472" of the odyssey-http beside the daemons of these sockets, which writes it when it
// starts. NOT_FOUND: it has not started, or has stopped.
Result<std::string> FindHttpAddress(const Locations& locations);

// Of the units' one, which starts with the first connection. NOT_FOUND: these are not the units'
// daemons.
Result<std::string> HttpAddressOfUnits(const Locations& locations);

// Whether something listens there. Blocks as long as a connection takes.
Status ReachHttp(const std::string& address);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CLIENT_HTTP_ADDRESS_H_
