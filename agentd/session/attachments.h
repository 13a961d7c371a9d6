#ifndef ODYSSEY_AGENTD_SESSION_ATTACHMENTS_H_
#define ODYSSEY_AGENTD_SESSION_ATTACHMENTS_H_

// The files that one agent hands to another: whether the policies of both ends allow them. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/dialect/attachment_policy.h"

namespace odyssey::session {

// By their names alone, before one is read: INVALID_ARGUMENT for a path that is empty, that names
// no file of the workspace, or that is named twice; PERMISSION_DENIED where `policy` refuses the
// count or a suffix.
Status CheckAttachmentNames(const std::vector<std::string>& paths,
                            const dialect::AttachmentPolicy& policy);

// The bytes of all together.
Status CheckAttachmentBytes(uint64_t total, const dialect::AttachmentPolicy& policy);

// The name of the copy: the path with "_" for "/", so that two files of one name stay two.
std::string AttachmentName(const std::string& path);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_ATTACHMENTS_H_
