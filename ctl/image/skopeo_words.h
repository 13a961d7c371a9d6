#ifndef ODYSSEY_CTL_IMAGE_SKOPEO_WORDS_H_
#define ODYSSEY_CTL_IMAGE_SKOPEO_WORDS_H_

// What skopeo says, for people. It quotes registries and archives: text of strangers. Pure.

#include <string>
#include <string_view>

namespace odyssey::ctl {

// Why it failed, by its stderr: the message of its last fatal line, else its last line.
std::string SkopeoError(std::string_view text);

// What to do about such a message, in options of `image pull`; "": nothing that is known.
std::string AdviceOn(const std::string& message, const std::string& registry);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_SKOPEO_WORDS_H_
