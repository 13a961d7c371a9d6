#include "supervisor/rpc/transfer_calls.h"

#include <memory>
#include <utility>

#include "common/base/refusal.h"
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

// Where the files of a call are.
struct Place {
  AskWorker ask;
  std::string path;             // as tool::Request has it
  std::unique_ptr<RunUse> run;  // null: outside of runs
};

Result<Place> InRun(Result<std::unique_ptr<RunUse>> use, const char* directory) {
  ODY_RETURN_IF_ERROR(use.status());
  return Place{(*use)->ask(), (*use)->name() + directory, std::move(*use)};
}

Result<Place> At(Result<Broker::PlaceUse> use) {
  ODY_RETURN_IF_ERROR(use.status());
  return Place{std::move(use->ask), std::move(use->path), nullptr};
}

Status CheckEither(const char* fields, const std::string& run_id, const std::string& path) {
  if (run_id.empty() || path.empty()) return OkStatus();
  return Refused(Code::kInvalidArgument, fields, "", "only one of them is allowed");
}

Result<Place> PlaceOf(Broker* broker, const v1::InjectStart& start) {
  ODY_RETURN_IF_ERROR(
      CheckEither("start.run_id, start.directory", start.run_id(), start.directory()));
  if (!start.directory().empty())
    return At(broker->UsePlace(start.cell_id(), "start.directory", start.directory()));
  if (start.replace()) {
    return Refused(Code::kInvalidArgument, "start.replace", "", "goes with start.directory");
  }
  return InRun(broker->UseRun(start.cell_id(), "start.run_id", start.run_id()), "/inbox");
}

Result<Place> PlaceOf(Broker* broker, const v1::CollectFilesRequest& request) {
  ODY_RETURN_IF_ERROR(CheckEither("run_id, path", request.run_id(), request.path()));
  if (!request.path().empty())
    return At(broker->UsePlace(request.cell_id(), "path", request.path()));
  return InRun(broker->UseOldRun(request.cell_id(), "run_id", request.run_id()), "/outbox");
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
  const v1::InjectStart start = message.start();
  ODY_ASSIGN_OR_RETURN(const Place place, PlaceOf(broker, start));
  Injection injection(place.ask, place.path,
                      start.replace() ? Existing::kReplace : Existing::kKeep);
  while (reader->Read(&message)) ODY_RETURN_IF_ERROR(TakeMessage(&message, &injection));
  // The end of the stream, or of the client: what a client did not finish does not stay.
  if (context.IsCancelled()) return Cancelled("the client is gone");
  ODY_RETURN_IF_ERROR(injection.Finish());
  broker->metrics()->OnTransferred(Transfer::kIn, injection.bytes());
  const std::string run = place.run ? place.run->name() : "";
  broker->audit()->Add(
      InjectRecord(start.cell_id(), run, start.directory(), injection.files(), injection.bytes()));
  response->set_run_id(run);
  response->set_files(injection.files());
  response->set_bytes(injection.bytes());
  return OkStatus();
}

Status SendFiles(Broker* broker, const v1::CollectFilesRequest& request,
                 grpc::ServerWriterInterface<v1::CollectFilesResponse>* writer) {
  ODY_ASSIGN_OR_RETURN(const Place place, PlaceOf(broker, request));
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
  return Collect(place.ask, place.path, sink);
}

}  // namespace odyssey::supervisor
