#include "ctl/exec/exec_files.h"

#include <utility>

#include "ctl/file/file_calls.h"
#include "ctl/file/file_report.h"

namespace odyssey::ctl {

using supervisor::v1::SupervisorStub;

namespace {

constexpr char kHome[] = "/cell/data/home";
constexpr size_t kPiece = 256 * 1024;
constexpr uint32_t kFileMode = 0600;  // some programs refuse a configuration that others may read

Status PutInHome(const SupervisorStub& stub, const rpc::CallOptions& options,
                 const std::string& cell_id, const std::vector<const HomeFile*>& files,
                 bool replace) {
  auto stream = stub.InjectFiles(options);
  supervisor::v1::InjectFilesRequest message;
  message.mutable_start()->set_cell_id(cell_id);
  message.mutable_start()->set_directory(kHome);
  message.mutable_start()->set_replace(replace);
  bool going = stream.Write(message);
  for (const HomeFile* file : files) {
    message.mutable_file()->set_path(file->path);
    message.mutable_file()->set_mode(kFileMode);
    going = going && stream.Write(message);
    for (size_t at = 0; going && at < file->text.size(); at += kPiece) {
      message.set_data(file->text.substr(at, kPiece));
      going = stream.Write(message);
    }
  }
  stream.WritesDone();
  supervisor::v1::InjectFilesResponse response;
  (void)stream.Read(&response);
  return stream.Finish();
}

}  // namespace

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

Status PutHomeFiles(ExecCall* call, const Client& client, const SupervisorStub& stub,
                    const std::string& cell_id, const std::vector<HomeFile>& files) {
  std::vector<const HomeFile*> replaced;
  const auto put = [&](const std::vector<const HomeFile*>& some, bool replace) {
    const Status status = PutInHome(stub, call->Interruptible(), cell_id, some, replace);
    const bool kept = !replace && status.code() == Code::kAlreadyExists;
    if (status.ok() || kept) return OkStatus();
    return Status(status.code(), some.front()->path + ": " + client.Explain("", status).why);
  };
  for (const HomeFile& file : files) {
    if (!file.keep) replaced.push_back(&file);
    if (file.keep) ODY_RETURN_IF_ERROR(put({&file}, false));
  }
  return replaced.empty() ? OkStatus() : put(replaced, true);
}

}  // namespace odyssey::ctl
