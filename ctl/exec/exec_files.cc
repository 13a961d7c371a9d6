#include "ctl/exec/exec_files.h"

#include <utility>

#include "ctl/file/file_calls.h"
#include "ctl/file/file_report.h"

namespace odyssey::ctl {

using supervisor::v1::SupervisorStub;

Result<ExecFiles> ExecFiles::Prepare(const Console& console, const std::vector<std::string>& inject,
                                     const std::string& collect) {
  ExecFiles out;
  out.wanted_ = !inject.empty() || !collect.empty();
  Result<FilesToPut> chosen = ChooseFiles(inject);
  if (!chosen.ok()) return Status(chosen.status().code(), "--inject: " + chosen.status().message());
  WarnSkipped(console, *chosen);
  out.put_ = std::move(chosen->files);
  if (collect.empty()) return out;
  Result<Destination> destination = Destination::Open(collect);
  if (!destination.ok()) {
    return Status(destination.status().code(), "--collect: " + destination.status().message());
  }
  out.destination_ = std::move(destination).value();
  return out;
}

Result<std::string> ExecFiles::Put(ExecCall* call, const Client& client, const SupervisorStub& stub,
                                   const std::string& cell_id) {
  if (!wanted_) return std::string();
  Status local;
  supervisor::v1::InjectFilesResponse response;
  const Status status =
      PutFiles(stub, call->Interruptible(), {cell_id, "", put_}, &local, &response);
  if (!local.ok()) return local;
  if (status.ok()) return response.run_id();
  return Status(status.code(), client.Explain("", status).why);
}

bool ExecFiles::Get(const Console& console, ExecCall* call, const Client& client,
                    const SupervisorStub& stub, const std::string& cell_id,
                    const std::string& run_id) {
  if (!destination_) return true;
  supervisor::v1::CollectFilesRequest request;
  request.set_cell_id(cell_id);
  request.set_run_id(run_id);
  std::vector<GotFile> files;
  const Status status = GetFiles(stub, call->Interruptible(), request, &*destination_, &files);
  const bool all = ReportGotFiles(console, files);
  if (!status.ok()) console.Fail(client.Explain("--collect", status));
  return all && status.ok();
}

}  // namespace odyssey::ctl
