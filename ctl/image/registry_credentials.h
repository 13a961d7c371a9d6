#ifndef ODYSSEY_CTL_IMAGE_REGISTRY_CREDENTIALS_H_
#define ODYSSEY_CTL_IMAGE_REGISTRY_CREDENTIALS_H_

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::ctl {

// Of the text of a docker or podman auth.json, what is for one registry: another registry's
// credentials are not brought to where this one's answers are parsed. INVALID_ARGUMENT: no such
// file's text; NOT_FOUND: nothing for the registry. Messages have no credential. Pure.
Result<std::string> CredentialsOf(std::string_view text, const std::string& registry);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_REGISTRY_CREDENTIALS_H_
