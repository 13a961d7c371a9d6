#include "supervisor/rpc/layer_cells.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "common/os/message_socket.h"
#include "common/os/unique_fd.h"
#include "policy/compile/layer_plan.h"
#include "policy/executables/found_encoding.h"
#include "supervisor/rpc/call_cell.h"
#include "supervisor/rpc/cell_key.h"

namespace odyssey::supervisor {
namespace {

constexpr int kPipeBytes = 1024 * 1024;
// A cell that neither reads nor writes for so long will not any more. Writing what it has unpacked
// to a slow disk may take it a while.
constexpr int kSilenceMs = 300'000;

constexpr char kScratchPrefix[] = "scratch-";

bool Wait(int fd, short events) {
  pollfd polled{fd, events, 0};
  int count = 0;
  do {
    count = poll(&polled, 1, kSilenceMs);
  } while (count < 0 && errno == EINTR);
  return count == 1;
}

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "create a pipe");
  Pipe pipe = {UniqueFd(ends[0]), UniqueFd(ends[1])};
  (void)fcntl(pipe.write.get(), F_SETPIPE_SZ, kPipeBytes);  // faster, if the user may
  return pipe;
}

// The layer cell of one order.
class Ordered final {
 public:
  static Result<Ordered> Start(EventLoop* loop, RootClient* root, plan::Plan plan,
                               const layer::Order& order, int pipe) {
    ODY_ASSIGN_OR_RETURN(std::unique_ptr<CallCell> cell,
                         CallCell::Start(loop, root, std::move(plan), "lay_", "the layer cell"));
    if (!SendMessage(cell->socket(), layer::Encode(order), {pipe}).ok()) return cell->WhyGone();
    return Ordered(std::move(cell));
  }

  // Waits for the answer.
  Result<layer::Done> Answer() {
    if (!Wait(cell_->socket(), POLLIN)) return Unavailable("the layer cell does not answer");
    const Result<Message> message = ReceiveMessage(cell_->socket());
    if (!message.ok()) return cell_->WhyGone();
    layer::Done done;
    ODY_RETURN_IF_ERROR(layer::Decode(message->bytes, &done));
    ODY_RETURN_IF_ERROR(done.status);
    return done;
  }

  void PurgeAtEnd() { cell_->PurgeAtEnd(); }

 private:
  explicit Ordered(std::unique_ptr<CallCell> cell) : cell_(std::move(cell)) {}

  std::unique_ptr<CallCell> cell_;
};

class CellUnpacking final : public LayerUnpacking {
 public:
  CellUnpacking(LayerCells* cells, std::string name, Ordered cell, UniqueFd pipe)
      : cells_(cells), name_(std::move(name)), cell_(std::move(cell)), pipe_(std::move(pipe)) {}

  bool Write(std::string_view bytes) override {
    while (pipe_ && !bytes.empty()) {
      const ssize_t count = write(pipe_.get(), bytes.data(), bytes.size());
      if (count >= 0) {
        bytes.remove_prefix(static_cast<size_t>(count));
      } else if (errno == EAGAIN ? !Wait(pipe_.get(), POLLOUT) : errno != EINTR) {
        pipe_.reset();
      }
    }
    return static_cast<bool>(pipe_);
  }

  Result<layer::Done> Finish() override {
    pipe_.reset();
    return cell_->Answer();
  }

  Status Discard() override {
    pipe_.reset();
    if (cell_) cell_->PurgeAtEnd();
    cell_.reset();
    // Of a cell that had ended by itself root purged nothing.
    return cells_->Remove(name_);
  }

 private:
  LayerCells* const cells_;
  const std::string name_;
  std::optional<Ordered> cell_;
  UniqueFd pipe_;
};

class CellReading final : public TarReading {
 public:
  CellReading(Ordered cell, UniqueFd pipe) : cell_(std::move(cell)), pipe_(std::move(pipe)) {
    cell_.PurgeAtEnd();
  }

  Result<std::string> Read() override {
    std::string bytes(kPipeBytes, '\0');
    ssize_t count = 0;
    do {
      if (!Wait(pipe_.get(), POLLIN)) return Unavailable("the layer cell sends nothing");
      count = read(pipe_.get(), bytes.data(), bytes.size());
    } while (count < 0 && errno == EINTR);
    if (count < 0) return ErrnoStatus(errno, "read from the layer cell");
    bytes.resize(static_cast<size_t>(count));
    return bytes;
  }

  Status Finish() override { return cell_.Answer().status(); }

 private:
  Ordered cell_;
  const UniqueFd pipe_;
};

class RootLayerCells final : public LayerCells {
 public:
  RootLayerCells(EventLoop* loop, RootClient* root) : loop_(loop), root_(root) {}

  Result<std::unique_ptr<LayerUnpacking>> Unpack(const std::string& name, uint64_t max_bytes,
                                                 uint64_t max_entries) override {
    ODY_ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
    const layer::Order order = {
        .op = layer::Op::kUnpack, .max_bytes = max_bytes, .max_entries = max_entries};
    ODY_ASSIGN_OR_RETURN(Ordered cell, Ordered::Start(loop_, root_, compile::UnpackPlan(name),
                                                      order, pipe.read.get()));
    if (fcntl(pipe.write.get(), F_SETFL, O_NONBLOCK) != 0) {
      return ErrnoStatus(errno, "set up a pipe");
    }
    return std::unique_ptr<LayerUnpacking>(
        new CellUnpacking(this, name, std::move(cell), std::move(pipe.write)));
  }

  Result<std::unique_ptr<TarReading>> Pack(const std::string& cell_tree) override {
    layer::Order order = {
        .op = layer::Op::kPack, .max_bytes = UINT64_MAX, .max_entries = UINT64_MAX};
    order.leave_out = compile::PlacesMadeByRoot();
    return Start(compile::PackPlan(RandomId(kScratchPrefix), cell_tree), order);
  }

  Result<std::unique_ptr<TarReading>> Read(const std::vector<std::string>& layers,
                                           const std::string& path) override {
    return Start(
        compile::ReadPlan(RandomId(kScratchPrefix), layers),
        {.op = layer::Op::kRead, .max_bytes = UINT64_MAX, .max_entries = UINT64_MAX, .path = path});
  }

  Result<compile::FoundExecutables> FindPrograms(const std::vector<std::string>& layers,
                                                 const std::vector<std::string>& names) override {
    ODY_ASSIGN_OR_RETURN(const std::unique_ptr<TarReading> found,
                         Start(compile::ReadPlan(RandomId(kScratchPrefix), layers),
                               {.op = layer::Op::kFind, .programs = names}));
    std::string encoded;
    for (;;) {
      ODY_ASSIGN_OR_RETURN(const std::string bytes, found->Read());
      if (bytes.empty()) break;
      encoded += bytes;
      if (encoded.size() > executables::kMaxFoundBytes) return Internal("too many programs found");
    }
    ODY_RETURN_IF_ERROR(found->Finish());
    return executables::DecodeFound(encoded);
  }

  Status Remove(const std::string& name) override {
    ODY_ASSIGN_OR_RETURN(
        const std::unique_ptr<CallCell> cell,
        CallCell::Start(loop_, root_, compile::UnpackPlan(name), "lay_", "the layer cell"));
    cell->PurgeAtEnd();
    return OkStatus();
  }

 private:
  Result<std::unique_ptr<TarReading>> Start(plan::Plan plan, const layer::Order& order) {
    ODY_ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
    ODY_ASSIGN_OR_RETURN(Ordered cell,
                         Ordered::Start(loop_, root_, std::move(plan), order, pipe.write.get()));
    return std::unique_ptr<TarReading>(new CellReading(std::move(cell), std::move(pipe.read)));
  }

  EventLoop* const loop_;
  RootClient* const root_;
};

}  // namespace

std::unique_ptr<LayerCells> MakeLayerCells(EventLoop* loop, RootClient* root) {
  return std::make_unique<RootLayerCells>(loop, root);
}

}  // namespace odyssey::supervisor
