#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_SERVE_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_SERVE_H_

#include <string>

#include "supervisor/wire/review_wire.h"

namespace odyssey::cell_review {

// Answers one request after another on the stream `socket` until the peer closes it. `place` holds
// the directories that Setup names: "/review".
Status Serve(int socket, const review::Setup& setup, const std::string& place);

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_SERVE_H_
