#include "supervisor/rpc/transfer_calls.h"

#include <memory>
#include <utility>

#include "supervisor/rpc/audit_records.h"
#include "supervisor/rpc/file_transfer.h"

namespace odyssey::supervisor {
namespace {

Status TakeMessage(v1::InjectFilesRequest* message, Injection* injection) {
  switch (message->message_case()) {
    case v1::InjectFilesRequest::kFile:
      return injection->BeginFile(message->file().path(), message->file().mode());
    case v1::InjectFilesRequest::kData:
      return injection->Add(std::move(*message->mutable_data()));
    case v1::InjectFilesRequest::kStart:
      return InvalidArgument("start: only the first message may be start");
    case v1::InjectFilesRequest::MESSAGE_NOT_SET:
      break;
  }
  return InvalidArgument("message: give file or data");
}

void ToProto(const CollectedFile& file, v1::CollectedFile* out) {
  out->set_path(file.path);
  out->set_size(file.size);
  out->set_mode(file.mode);
  out->set_skipped(file.skipped);
}

}  // namespace

Status ReceiveFiles(Broker* broker, const grpc::ServerContext& context,
                    grpc::ServerReaderInterface<v1::InjectFilesRequest>* reader,
                    v1::InjectFilesResponse* response) {
  v1::InjectFilesRequest message;
  if (!reader->Read(&message) || !message.has_start()) {
    return InvalidArgument("message: the first must be start");
  }
  ODY_RETURN_IF_ERROR(broker->audit()->Admit());
  const std::string cell_id = message.start().cell_id();
  ODY_ASSIGN_OR_RETURN(const std::unique_ptr<RunUse> use,
                       broker->UseRun(cell_id, "start.run_id", message.start().run_id()));
  Injection injection(use->ask(), use->name());
  while (reader->Read(&message)) ODY_RETURN_IF_ERROR(TakeMessage(&message, &injection));
  // The end of the stream, or of the client: what a client did not finish does not stay.
  if (context.IsCancelled()) return Cancelled("the client is gone");
  ODY_RETURN_IF_ERROR(injection.Finish());
  broker->metrics()->OnTransferred(Transfer::kIn, injection.bytes());
  broker->audit()->Add(InjectRecord(cell_id, use->name(), injection.files(), injection.bytes()));
  response->set_run_id(use->name());
  response->set_files(injection.files());
  response->set_bytes(injection.bytes());
  return OkStatus();
}

Status SendFiles(Broker* broker, const v1::CollectFilesRequest& request,
                 grpc::ServerWriterInterface<v1::CollectFilesResponse>* writer) {
  ODY_ASSIGN_OR_RETURN(const std::unique_ptr<RunUse> use,
                       broker->UseOldRun(request.cell_id(), "run_id", request.run_id()));
  v1::CollectFilesResponse response;
  const CollectSink sink{.file =
                             [&](const CollectedFile& file) {
                               ToProto(file, response.mutable_file());
                               return writer->Write(response);
                             },
                         .data =
                             [&](std::string data) {
                               broker->metrics()->OnTransferred(Transfer::kOut, data.size());
                               response.set_data(std::move(data));
                               return writer->Write(response);
                             }};
  return Collect(use->ask(), use->name(), sink);
}

}  // namespace odyssey::supervisor
