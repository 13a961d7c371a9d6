#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_RESOLVER_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_RESOLVER_H_

// The resolver of a cell without a network: answers each DNS query with "no such name", and records
// the name (ADR 0041).

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "supervisor/cell_init/refused_names.h"

namespace odyssey::cell_init {

// UDP 127.0.0.1:53. The caller has CAP_NET_BIND_SERVICE over its network namespace.
Result<UniqueFd> OpenResolver();

// Answers one query, when `resolver` is readable; does not block. A name is recorded before its
// query is answered.
void AnswerQuery(int resolver, RefusedNames* names);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_RESOLVER_H_
