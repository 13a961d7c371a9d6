#include "ctl/file/file_calls.h"

#include <errno.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "common/os/file.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::CollectFilesRequest;
using supervisor::v1::CollectFilesResponse;
using supervisor::v1::InjectFilesRequest;
using supervisor::v1::InjectFilesResponse;
using supervisor::v1::SupervisorStub;
using InjectStream = rpc::Stream<InjectFilesRequest, InjectFilesResponse>;

constexpr size_t kPiece = 256 * 1024;

// False if the call is over; then its status says why.
Result<bool> SendFile(const FileToPut& file, const CopyProgress& progress, InjectStream* writer) {
  InjectFilesRequest message;
  uint32_t mode = 0;
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFileToPut(file, &mode));
  message.mutable_file()->set_path(file.name);
  message.mutable_file()->set_mode(mode);
  if (!writer->Write(message)) return false;
  for (;;) {
    std::string* piece = message.mutable_data();
    piece->resize(kPiece);
    const ssize_t n = read(fd.get(), piece->data(), piece->size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read " + file.path);
    if (n == 0) return true;
    piece->resize(static_cast<size_t>(n));
    if (!writer->Write(message)) return false;
    if (progress) progress(file.name, static_cast<size_t>(n));
  }
}

// What comes after the head of one file.
class Incoming final {
 public:
  Incoming(Destination* destination, std::vector<GotFile>* files)
      : destination_(destination), files_(files) {}

  void Begin(const supervisor::v1::CollectedFile& head) {
    End();
    files_->push_back({head.path(), head.size(), head.skipped(), OkStatus()});
    if (!head.skipped().empty()) return;
    open_ = true;
    left_ = head.size();
    Note(destination_->Begin(head.path(), head.mode()));
  }

  void Add(std::string_view bytes) {
    if (!open_) return;
    if (bytes.size() > left_) {
      Note(Status(Code::kDataLoss, "it comes with more bytes than was said"));
      return;
    }
    left_ -= bytes.size();
    Note(destination_->Add(bytes));
  }

  void End() {
    if (!open_) return;
    if (left_ > 0) {
      Note(Status(Code::kDataLoss, "it comes with " + std::to_string(left_) + " bytes less than " +
                                       "was said: it changed meanwhile"));
    } else {
      Note(destination_->Finish());
    }
    open_ = false;
  }

 private:
  // A file that fails is not here, not in part either.
  void Note(const Status& status) {
    if (status.ok()) return;
    files_->back().status = status;
    destination_->Abandon();
    open_ = false;
  }

  Destination* const destination_;
  std::vector<GotFile>* const files_;
  bool open_ = false;
  uint64_t left_ = 0;
};

}  // namespace

Status PutFiles(const SupervisorStub& stub, const rpc::CallOptions& options,
                const PutRequest& request, Status* local, InjectFilesResponse* response) {
  InjectStream writer = stub.InjectFiles(options);
  InjectFilesRequest start;
  start.mutable_start()->set_cell_id(request.cell_id);
  start.mutable_start()->set_run_id(request.run_id);
  start.mutable_start()->set_directory(request.directory);
  start.mutable_start()->set_replace(request.replace);
  bool going = writer.Write(start);
  for (size_t i = 0; i < request.files.size() && going; ++i) {
    const Result<bool> sent = SendFile(request.files[i], request.progress, &writer);
    going = sent.ok() && *sent;
    if (sent.ok()) continue;
    *local = sent.status();
    writer.Cancel();
  }
  writer.WritesDone();
  (void)writer.Read(response);
  return writer.Finish();
}

Status GetFiles(const SupervisorStub& stub, const rpc::CallOptions& options,
                const CollectFilesRequest& request, Destination* destination,
                std::vector<GotFile>* files, const CopyProgress& progress) {
  auto reader = stub.CollectFiles(options, request);
  Incoming incoming(destination, files);
  for (CollectFilesResponse message; reader.Read(&message);) {
    if (message.has_file()) {
      incoming.Begin(message.file());
    } else {
      incoming.Add(message.data());
      if (progress && !files->empty()) progress(files->back().path, message.data().size());
    }
  }
  incoming.End();
  return reader.Finish();
}

Status GetFile(const SupervisorStub& stub, const rpc::CallOptions& options,
               const CollectFilesRequest& request, int fd) {
  auto reader = stub.CollectFiles(options, request);
  CollectFilesResponse message;
  if (!reader.Read(&message)) {
    ODY_RETURN_IF_ERROR(reader.Finish());
    return FailedPrecondition(request.path() + ": an empty directory, not a file");
  }
  const supervisor::v1::CollectedFile head = message.file();
  // What is below a directory has a path from there.
  const std::string name = request.path().substr(request.path().rfind('/') + 1);
  if (!head.skipped().empty() || head.path() != name) {
    return FailedPrecondition(
        request.path() + ": " +
        (head.skipped().empty() ? "a directory, not a file" : head.skipped()));
  }
  uint64_t left = head.size();
  while (left > 0 && reader.Read(&message)) {
    if (message.data().size() > left) return Status(Code::kDataLoss, "more bytes than was said");
    left -= message.data().size();
    ODY_RETURN_IF_ERROR(WriteAll(fd, message.data()));
  }
  ODY_RETURN_IF_ERROR(reader.Finish());
  if (left == 0) return OkStatus();
  return Status(Code::kDataLoss, "fewer bytes than was said: it changed meanwhile");
}

}  // namespace odyssey::ctl
