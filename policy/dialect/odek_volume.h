#ifndef ODYSSEY_POLICY_DIALECT_ODEK_VOLUME_H_
#define ODYSSEY_POLICY_DIALECT_ODEK_VOLUME_H_

#include <optional>

#include "policy/dialect/odek.h"

namespace odyssey::dialect::odek {

// One entry of sandbox_volumes, HOST:TARGET[:ro|rw], in a project at context.client_cwd. A host
// path that a project must not name is left out with a warning, as odek does; a target or an option
// that no cell has is reported.
std::optional<policy::Mount> ReadVolume(const Word& volume, const Source& source,
                                        const PolicyContext& context);

}  // namespace odyssey::dialect::odek

#endif  // ODYSSEY_POLICY_DIALECT_ODEK_VOLUME_H_
