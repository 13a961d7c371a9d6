#ifndef ODYSSEY_CTL_HUB_HUB_VERBS_H_
#define ODYSSEY_CTL_HUB_HUB_VERBS_H_

#include <string_view>
#include <vector>

#include "ctl/base/command.h"

namespace odyssey::ctl {

inline constexpr std::string_view kPushVerb = "bundle push";
inline constexpr std::string_view kPullVerb = "bundle pull";
inline constexpr std::string_view kServeVerb = "hub serve";
inline constexpr std::string_view kKeygenVerb = "hub keygen";

inline constexpr char kDefaultHub[] = "http://127.0.0.1:8473";
inline constexpr char kDefaultBind[] = "127.0.0.1:8473";

// Commands without `run`. odyssey-hub's arguments are the verb's two words, then these options.
std::vector<Command> HubVerbs();

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_HUB_HUB_VERBS_H_
