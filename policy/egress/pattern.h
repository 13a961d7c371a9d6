#ifndef ODYSSEY_POLICY_EGRESS_PATTERN_H_
#define ODYSSEY_POLICY_EGRESS_PATTERN_H_

// Patterns of hosts and of paths: `*` stays within one label or segment, `**` spans any number.

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::egress {

// A host in its one spelling: lower case, no trailing dot, ASCII, or an address (IPv6 without
// brackets). `*` stands for one whole label, `**` as the first label for one or more; the last two
// labels of a pattern have neither. PERMISSION_DENIED for what no policy opens: names and addresses
// of this machine itself and of the metadata of clouds, and addresses in an unusual form.
// INVALID_ARGUMENT for what is no host.
Result<std::string> NormalizeHost(const std::string& host);

// The host is an address.
bool IsAddress(const std::string& host);

bool IsHostPattern(const std::string& host);

// As it stands before a port: an IPv6 address is in brackets.
std::string BeforePort(const std::string& host);

// Why the host leads to a private network wherever it is looked up, "" if that is not known: its
// address, or a name that only such networks have ("db.corp.internal"). Asks no name server.
std::string KnownPrivate(const std::string& host);

// Some host is matched by both. Both are normalised; "" is only itself.
bool HostsOverlap(const std::string& a, const std::string& b);

// A pattern of paths: "/a/*/b", or "**" for all. `*` matches within a segment, `**` is a whole
// segment and matches any number of them. `what` begins the error: "path".
Status CheckPathPattern(const std::string& what, const std::string& pattern);
// A pattern that matches one path, itself.
bool IsLiteralPath(const std::string& pattern);

// Some path is matched by both; "" and "**" match all.
bool PathsOverlap(const std::string& a, const std::string& b);

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_PATTERN_H_
