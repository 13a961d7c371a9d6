#ifndef ODYSSEY_POLICY_EGRESS_GLOB_H_
#define ODYSSEY_POLICY_EGRESS_GLOB_H_

// Whether one host, one path or one text is among those that a pattern stands for. Patterns are
// checked (see pattern.h). Nothing is allocated; the time is the product of both lengths at worst.

#include <string_view>

namespace odyssey::egress {

// Both normalised. `*` stands for one label, `**` in front for one or more.
bool HostMatches(std::string_view pattern, std::string_view host);

// "" and "**" match all. `*` stays within a segment, `**` spans any number of them: "/a/**" matches
// "/a" as well.
bool PathMatches(std::string_view pattern, std::string_view path);

// `*` stands for any number of any characters, `/` too.
bool TextMatches(std::string_view pattern, std::string_view text);

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_GLOB_H_
