#ifndef ODYSSEY_CTL_EXEC_EXEC_FILES_H_
#define ODYSSEY_CTL_EXEC_EXEC_FILES_H_

// The files around one `exec`: --inject before the command, --collect after it.

#include <optional>
#include <string>
#include <vector>

#include "ctl/base/console.h"
#include "ctl/client/client.h"
#include "ctl/exec/exec_call.h"
#include "ctl/file/local_files.h"
#include "ctl/policy/exec_options.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {

class ExecFiles final {
 public:
  // Looks at the files and opens the directory, before there is a cell; says what it skips.
  static Result<ExecFiles> Prepare(const Console& console, const std::vector<std::string>& inject,
                                   const std::string& collect);

  // A run with the files in its inbox. "" if neither option was given. The status says what failed;
  // CANCELLED after a signal.
  Result<std::string> Put(ExecCall* call, const Client& client,
                          const supervisor::v1::SupervisorStub& stub, const std::string& cell_id);

  // What the command left in the outbox. False if not all of it could be got, which has been
  // reported.
  bool Get(const Console& console, ExecCall* call, const Client& client,
           const supervisor::v1::SupervisorStub& stub, const std::string& cell_id,
           const std::string& run_id);

 private:
  bool wanted_ = false;
  std::vector<FileToPut> put_;
  std::optional<Destination> destination_;
};

// Into the home of the cell. A file that is to be kept, and is there, stays as it is.
Status PutHomeFiles(ExecCall* call, const Client& client,
                    const supervisor::v1::SupervisorStub& stub, const std::string& cell_id,
                    const std::vector<HomeFile>& files);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_EXEC_EXEC_FILES_H_
