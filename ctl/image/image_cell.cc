#include "ctl/image/image_cell.h"

#include <errno.h>
#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "ctl/base/units.h"
#include "ctl/cell/cell_name.h"
#include "ctl/image/skopeo_words.h"
#include "policy/convert/sandbox_proto.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::ExecResponse;
using Clock = std::chrono::steady_clock;

constexpr size_t kPiece = size_t{256} << 10;
constexpr size_t kMostErrors = size_t{16} << 10;
constexpr std::chrono::milliseconds kLookEvery{500};
constexpr char kPrivateNetwork[] = "ssrf_denied";  // EgressDecision.code

Result<std::string> RandomName() {
  unsigned char bytes[12];
  if (getrandom(bytes, sizeof(bytes), 0) != static_cast<ssize_t>(sizeof(bytes))) {
    return ErrnoStatus(errno, "get random bytes");
  }
  std::string out = "image-";
  static constexpr char kDigits[] = "0123456789abcdef";
  for (const unsigned char byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

// The end of a text that grows.
void AddTo(std::string* tail, const std::string& more) {
  tail->append(more);
  if (tail->size() > kMostErrors) tail->erase(0, tail->size() - kMostErrors);
}

void NoteDenials(CommandEnd* end) {
  for (const supervisor::v1::EgressDecision& decision : end->outcome.egress()) {
    if (decision.verdict() != supervisor::v1::EGRESS_VERDICT_DENIED || decision.port() == 0) {
      continue;  // one without a port is of a name, which the connection says again
    }
    const std::string place = decision.host() + ":" + std::to_string(decision.port());
    std::vector<std::string>* const list =
        decision.code() == kPrivateNetwork ? &end->in_private_network : &end->denied;
    if (std::find(list->begin(), list->end(), place) == list->end()) list->push_back(place);
  }
}

Status Silent(std::chrono::milliseconds silence) {
  const auto ms = static_cast<uint64_t>(silence.count());
  return Unavailable("nothing came for " + FormatDurationMs(ms)).With({.field = kSilenceField});
}

}  // namespace

ImageCell::ImageCell(const Client* client, int signals)
    : client_(*client), stub_(client->channel()), signals_(signals) {}

Result<std::unique_ptr<ImageCell>> ImageCell::Prepare(const Client* client, int signals,
                                                      policy::SandboxRequest sandbox) {
  ODY_ASSIGN_OR_RETURN(const std::string name, RandomName());
  std::unique_ptr<ImageCell> cell(new ImageCell(client, signals));
  supervisor::v1::PrepareCellRequest request;
  *request.mutable_key() = KeyOfCommand(name);
  *request.mutable_sandbox() = policy::ToProto(sandbox);
  request.set_owner_uid(getuid());
  request.set_single_use(true);  // ends even if we are killed
  supervisor::v1::PrepareCellResponse prepared;
  ODY_RETURN_IF_ERROR(cell->stub_.PrepareCell({kCellCallMs, signals}, request, &prepared));
  cell->cell_ = prepared.cell().cell_id();
  // Each command names this run, which keeps the cell for the next one.
  ODY_RETURN_IF_ERROR(cell->Put({}));
  return cell;
}

ImageCell::~ImageCell() {
  if (cell_.empty()) return;
  supervisor::v1::RemoveCellRequest request;
  request.set_cell_id(cell_);
  request.set_purge(true);
  supervisor::v1::RemoveCellResponse response;
  (void)stub_.RemoveCell({kCellCallMs}, request, &response);  // it ends by itself
}

Status ImageCell::Put(const std::vector<CellFile>& files) {
  auto stream = stub_.InjectFiles({kCellCallMs, signals_});
  supervisor::v1::InjectFilesRequest message;
  message.mutable_start()->set_cell_id(cell_);
  message.mutable_start()->set_run_id(run_);
  bool going = stream.Write(message);
  for (const CellFile& file : files) {
    message.mutable_file()->set_path(file.name);
    message.mutable_file()->set_mode(0600);
    going = going && stream.Write(message);
    for (size_t at = 0; going && at < file.text.size(); at += kPiece) {
      message.set_data(file.text.substr(at, kPiece));
      going = stream.Write(message);
    }
  }
  stream.WritesDone();
  supervisor::v1::InjectFilesResponse response;
  if (stream.Read(&response)) run_ = response.run_id();
  return stream.Finish();
}

Status ImageCell::PutStream(const std::string& name, int fd,
                            const std::function<void(uint64_t)>& progress) {
  // As a command's stdin: a file that is injected has a bound.
  auto stream = stub_.Exec({0, signals_});
  supervisor::v1::ExecRequest message;
  supervisor::v1::ExecStart* const start = message.mutable_start();
  start->set_cell_id(cell_);
  start->set_run_id(run_);
  start->set_open_stdin(true);
  for (const std::string& word : {std::string("dd"), "of=" + Inbox() + "/" + name,
                                  std::string("bs=1M"), std::string("status=none")}) {
    start->add_argv(word);
  }
  bool going = stream.Write(message);
  uint64_t sent = 0;
  std::string buffer(kPiece, '\0');
  while (going) {
    pollfd polled[] = {{fd, POLLIN, 0}, {signals_, POLLIN, 0}};
    if (poll(polled, std::size(polled), -1) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "wait for stdin");
    }
    if (polled[1].revents != 0) return Cancelled("interrupted");
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read stdin");
    if (n == 0) break;
    message.set_stdin(buffer.substr(0, static_cast<size_t>(n)));
    going = stream.Write(message);
    sent += static_cast<uint64_t>(n);
    if (progress) progress(sent);
  }
  message.set_stdin_eof(true);
  if (going) stream.Write(message);
  stream.WritesDone();
  CommandEnd end;
  for (ExecResponse response; stream.Read(&response);) {
    if (response.has_output()) AddTo(&end.errors, response.output().data());
    if (response.has_outcome()) end.outcome = response.outcome();
  }
  ODY_RETURN_IF_ERROR(stream.Finish());
  if (end.ok()) return OkStatus();
  return FailedPrecondition("copy it into the cell: " + SkopeoError(end.errors));
}

Result<uint64_t> ImageCell::BytesBelow(const std::string& directory) {
  supervisor::v1::FileOpRequest request;
  request.set_cell_id(cell_);
  request.mutable_list()->set_path(directory);
  supervisor::v1::FileOpResponse response;
  ODY_RETURN_IF_ERROR(stub_.FileOp({kQuickCallMs, signals_}, request, &response));
  uint64_t bytes = 0;
  for (const supervisor::v1::FileEntry& entry : response.list().entries()) bytes += entry.size();
  return bytes;
}

Result<CommandEnd> ImageCell::Execute(const CellCommand& command, const ByteSink& sink) {
  auto stream = stub_.Exec({0, signals_});
  rpc::H2Call* const call = stream.call();
  supervisor::v1::ExecRequest message;
  message.mutable_start()->set_cell_id(cell_);
  message.mutable_start()->set_run_id(run_);
  for (const std::string& word : command.argv) message.mutable_start()->add_argv(word);
  call->Send(message);

  CommandEnd end;
  Clock::time_point last = Clock::now(), look = last + kLookEvery;
  uint64_t watched = 0;
  for (;;) {
    for (ExecResponse response; call->Receive(&response);) {
      if (response.has_outcome()) end.outcome = std::move(*response.mutable_outcome());
      if (!response.has_output()) continue;
      supervisor::v1::ExecOutput* const output = response.mutable_output();
      if (output->stream() == supervisor::v1::OUTPUT_STREAM_STDERR) {
        AddTo(&end.errors, output->data());
      } else {
        ODY_RETURN_IF_ERROR(sink(std::move(*output->mutable_data())));
      }
      last = Clock::now();
    }
    if (call->done() && !call->HasMessage()) break;
    pollfd polled[] = {call->channel().Polled(), {signals_, POLLIN, 0}};
    const int most = call->channel().timeout_ms(), every = static_cast<int>(kLookEvery.count());
    poll(polled, std::size(polled), most < 0 ? every : std::min(most, every));
    call->channel().Pump();
    if (polled[1].revents != 0) return Cancelled("interrupted");
    if (Clock::now() < look || call->HasMessage()) continue;
    look = Clock::now() + kLookEvery;
    // A directory that is not there yet has nothing in it.
    const Result<uint64_t> bytes =
        command.watched.empty() ? Result<uint64_t>(watched) : BytesBelow(command.watched);
    if (bytes.ok() && *bytes != watched) {
      watched = *bytes;
      last = Clock::now();
      if (command.progress) command.progress(watched);
    }
    if (watched > command.most_watched) {
      return ResourceExhausted("more than " + std::to_string(command.most_watched) +
                               " bytes came, which is more than its manifest names");
    }
    if (Clock::now() - last > command.silence) return Silent(command.silence);
  }
  ODY_RETURN_IF_ERROR(stream.Finish());
  if (end.outcome.kind() == supervisor::v1::OUTCOME_KIND_NOT_FOUND) {
    return NotFound(command.argv[0] + " is not installed on this host")
        .With({.field = kProgramField, .value = command.argv[0]});
  }
  NoteDenials(&end);
  return end;
}

Result<std::string> ImageCell::Capture(const CellCommand& command, size_t max_bytes) {
  std::string out;
  ODY_ASSIGN_OR_RETURN(
      const CommandEnd end, Execute(command, [&](std::string bytes) {
        if (bytes.size() > max_bytes - out.size()) {
          return ResourceExhausted("has more than " + std::to_string(max_bytes) + " bytes");
        }
        out += bytes;
        return OkStatus();
      }));
  if (end.ok()) return out;
  return FailedPrecondition(SkopeoError(end.errors));
}

Status ImageCell::Fetch(const std::string& path, uint64_t size, const ByteSink& sink) {
  uint64_t left = size;
  ODY_ASSIGN_OR_RETURN(const CommandEnd end,
                       Execute({.argv = {"cat", "--", path}}, [&](std::string bytes) {
                         if (bytes.size() > left) {
                           return InvalidArgument("has more than the " + std::to_string(size) +
                                                  " bytes that its manifest says");
                         }
                         left -= bytes.size();
                         return sink(std::move(bytes));
                       }));
  if (!end.ok()) return FailedPrecondition(SkopeoError(end.errors));
  if (left == 0) return OkStatus();
  return InvalidArgument("has " + std::to_string(size - left) + " bytes, and its manifest says " +
                         std::to_string(size));
}

Result<std::string> ImageCell::ReadSmall(const std::string& path, size_t max_bytes) {
  return Capture({.argv = {"cat", "--", path}}, max_bytes);
}

Result<std::string> CellLayout::Read(const std::string& name, size_t max_bytes) {
  return cell_->ReadSmall(directory_ + "/" + name, max_bytes);
}

}  // namespace odyssey::ctl
