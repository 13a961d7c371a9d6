#ifndef ODYSSEY_CTL_FILE_COPY_STATUS_H_
#define ODYSSEY_CTL_FILE_COPY_STATUS_H_

#include "ctl/base/status_line.h"
#include "ctl/file/file_calls.h"

namespace odyssey::ctl {

// Shows which file is copied, and how much in all. `line` outlives the callback.
CopyProgress ShowCopies(StatusLine* line);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_FILE_COPY_STATUS_H_
