#ifndef ODYSSEY_CTL_CLIENT_MESSAGE_TEXT_H_
#define ODYSSEY_CTL_CLIENT_MESSAGE_TEXT_H_

#include <google/protobuf/message.h>

#include "common/base/status.h"

namespace odyssey::ctl {

// INVALID_ARGUMENT naming the first string of `message` that is not UTF-8, as in
// "sandbox.mounts[1].source", and not what it is, which may be a secret. Environments and names of
// files are bytes, and no daemon could read it. Pure.
Status CheckText(const google::protobuf::Message& message);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CLIENT_MESSAGE_TEXT_H_
