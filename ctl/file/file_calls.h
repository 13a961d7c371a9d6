#ifndef ODYSSEY_CTL_FILE_FILE_CALLS_H_
#define ODYSSEY_CTL_FILE_FILE_CALLS_H_

// Files into a cell and out of it: InjectFiles and CollectFiles over local_files.h.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/file/local_files.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {

// Called with the name of a file and how many more bytes of it were copied; may be empty.
using CopyProgress = std::function<void(const std::string& name, size_t bytes)>;

struct PutRequest {
  std::string cell_id;
  std::string run_id;                // "": a new one
  std::span<const FileToPut> files;  // borrowed
  std::string directory = "";        // of the cell, in place of a run's inbox; "": none
  bool replace = false;              // with `directory`: what is there
  CopyProgress progress = {};
};

// All of the files or none. `*local` says what went wrong on this side; the status of the call is
// CANCELLED then.
Status PutFiles(const supervisor::v1::SupervisorStub& stub, const rpc::CallOptions& options,
                const PutRequest& request, Status* local,
                supervisor::v1::InjectFilesResponse* response);

// One file of the outbox.
struct GotFile {
  std::string path;
  uint64_t size = 0;
  std::string skipped;  // not empty: the supervisor's reason
  Status status;        // of writing it here
};

// Every file of the outbox that can be written below `destination`; one that cannot is said so, and
// the others come all the same.
Status GetFiles(const supervisor::v1::SupervisorStub& stub, const rpc::CallOptions& options,
                const supervisor::v1::CollectFilesRequest& request, Destination* destination,
                std::vector<GotFile>* files, const CopyProgress& progress = {});

// The one regular file at the request's path, to `fd`. FAILED_PRECONDITION: it is none.
Status GetFile(const supervisor::v1::SupervisorStub& stub, const rpc::CallOptions& options,
               const supervisor::v1::CollectFilesRequest& request, int fd);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_FILE_FILE_CALLS_H_
