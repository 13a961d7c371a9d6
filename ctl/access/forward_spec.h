#ifndef ODYSSEY_CTL_ACCESS_FORWARD_SPEC_H_
#define ODYSSEY_CTL_ACCESS_FORWARD_SPEC_H_

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace odyssey::ctl {

// What `cell forward` was told of one port.
struct ForwardSpec {
  std::string bind;     // an address of the host; "": 127.0.0.1 and ::1
  uint16_t local = 0;   // 0: a free one
  uint16_t remote = 0;  // of the cell's 127.0.0.1
  friend bool operator==(const ForwardSpec&, const ForwardSpec&) = default;
};

// "8000", "8080:8000", "0:8000", "192.0.2.1:8080:8000", "[::1]:8080:8000". INVALID_ARGUMENT names
// the word. Pure.
Result<ForwardSpec> ReadForward(const std::string& word);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_ACCESS_FORWARD_SPEC_H_
