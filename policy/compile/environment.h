#ifndef ODYSSEY_POLICY_COMPILE_ENVIRONMENT_H_
#define ODYSSEY_POLICY_COMPILE_ENVIRONMENT_H_

// The environment of every command: a fixed base, then what the request adds.

#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/model/request.h"

namespace odyssey::compile {

// Leaves half of what an exec may carry (cell::kMaxExecBytes) to its arguments.
inline constexpr size_t kMaxEnvBytes = 64 * 1024;
inline constexpr size_t kMaxEnvNames = 1024;

// In a cell with egress: whom its programs trust, written by odyssey-supervisor-rpc.
inline constexpr char kCertificates[] = "/cell/data/certificates.pem";

// INVALID_ARGUMENT naming env and the name, never the value.
Status CheckEnvironment(const std::map<std::string, std::string>& env);

// The names that a policy gives, without those that are inherited.
std::vector<std::string> OwnNames(const std::map<std::string, std::string>& env);

// "NAME=value": places, locale, the search path of the system's programs; without a network what
// keeps programs from waiting for one, with egress its proxy and its certificates.
std::vector<std::string> BaseEnvironment(policy::Network network);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_ENVIRONMENT_H_
