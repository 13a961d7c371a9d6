#ifndef ODYSSEY_POLICY_EXPLAIN_LINKS_H_
#define ODYSSEY_POLICY_EXPLAIN_LINKS_H_

// Where symbolic links lead in a cell, whose tree is not the host's. Pure.

#include <functional>
#include <optional>
#include <string>

#include "policy/explain/explain.h"

namespace odyssey::explain {

// What a link of the host says, by its path there; nullopt: it is none, or nothing is known of it.
using ReadLink = std::function<std::optional<std::string>(const std::string& path)>;

// The path of the host that the cell shows as `path`; "": none.
std::string HostPathOf(const Cell& cell, const std::string& path);

// Where `path`, absolute in the cell, leads there once every link on the way is followed, those of
// the plan and those in host trees. nullopt: they go in a circle.
std::optional<std::string> FollowInCell(const Cell& cell, const std::string& path,
                                        const ReadLink& read_link);

}  // namespace odyssey::explain

#endif  // ODYSSEY_POLICY_EXPLAIN_LINKS_H_
