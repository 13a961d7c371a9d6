#include "ctl/exec_files.h"

#include <utility>

#include "ctl/file_calls.h"
#include "ctl/file_report.h"

namespace odyssey::ctl {

using supervisor::v1::Supervisor;

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

Result<std::string> ExecFiles::Put(ExecCall* call, const Client& client,
                                   Supervisor::StubInterface* stub, const std::string& cell_id) {
  if (!wanted_) return std::string();
  Status local;
  supervisor::v1::InjectFilesResponse response;
  grpc::ClientContext context;
  const grpc::Status status = call->Interruptible(&context, [&] {
    return PutFiles(stub, &context, {cell_id, "", put_}, &local, &response);
  });
  if (!local.ok()) return local;
  if (status.ok()) return response.run_id();
  return Status(static_cast<Code>(status.error_code()), client.Explain("", status).why);
}

bool ExecFiles::Get(const Console& console, ExecCall* call, const Client& client,
                    Supervisor::StubInterface* stub, const std::string& cell_id,
                    const std::string& run_id) {
  if (!destination_) return true;
  supervisor::v1::CollectFilesRequest request;
  request.set_cell_id(cell_id);
  request.set_run_id(run_id);
  std::vector<GotFile> files;
  grpc::ClientContext context;
  const grpc::Status status = call->Interruptible(
      &context, [&] { return GetFiles(stub, &context, request, &*destination_, &files); });
  const bool all = ReportGotFiles(console, files);
  if (!status.ok()) console.Fail(client.Explain("--collect", status));
  return all && status.ok();
}

}  // namespace odyssey::ctl
