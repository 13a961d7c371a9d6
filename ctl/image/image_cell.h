#ifndef ODYSSEY_CTL_IMAGE_IMAGE_CELL_H_
#define ODYSSEY_CTL_IMAGE_IMAGE_CELL_H_

// The cell in which skopeo and tar meet what strangers packed: a registry's answers, an archive.
// Commands run in it one after another, and files are read out of it as they come, never whole. It
// ends with this object; with a client that is killed 30 seconds later.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "ctl/client/client.h"
#include "image/layout/layout.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

// A file for the commands of the cell, in its Inbox().
struct CellFile {
  std::string name;
  std::string text;
};

struct CellCommand {
  std::vector<std::string> argv;
  // No byte of output, nor a new one in `watched`, for so long: UNAVAILABLE, with the field
  // kSilenceField.
  std::chrono::milliseconds silence = std::chrono::seconds(60);
  // A directory of the cell whose files grow while the command runs; "": none. More than
  // `most_watched` bytes in it are RESOURCE_EXHAUSTED.
  std::string watched = {};
  uint64_t most_watched = UINT64_MAX;
  std::function<void(uint64_t bytes)> progress = {};  // of `watched`
};

// How a command ended.
struct CommandEnd {
  supervisor::v1::ExecOutcome outcome;
  std::string errors;  // the end of its stderr
  // "HOST:PORT" that it wanted to reach: what no endpoint names, and what an endpoint names and is
  // in a private network that the endpoint does not open.
  std::vector<std::string> denied, in_private_network;
  bool ok() const {
    return outcome.kind() == supervisor::v1::OUTCOME_KIND_EXITED && outcome.exit_code() == 0;
  }
};

// Of the failure of a command whose program, the value, is not there.
inline constexpr char kProgramField[] = "program";
inline constexpr char kSilenceField[] = "silence";

// Takes bytes of a command's stdout; an error ends the command, and is what Run returns.
using ByteSink = std::function<Status(std::string bytes)>;

class ImageCell final {
 public:
  // `sandbox` says what is particular: mounts, the network. `client` outlives the cell.
  // `signals`: a signalfd; a signal on it ends calls, which are CANCELLED then. Borrowed.
  static Result<std::unique_ptr<ImageCell>> Prepare(const Client* client, int signals,
                                                    policy::SandboxRequest sandbox);
  ~ImageCell();
  ImageCell(const ImageCell&) = delete;
  ImageCell& operator=(const ImageCell&) = delete;

  // Into Inbox().
  Status Put(const std::vector<CellFile>& files);
  // Bytes of `fd` to its end, as the file `name` there.
  Status PutStream(const std::string& name, int fd, const std::function<void(uint64_t)>& progress);

  // Directories of the cell.
  std::string Inbox() const { return Run() + "/inbox"; }
  std::string Work() const { return Run() + "/work"; }
  std::string Temporary() const { return Run() + "/tmp"; }

  // NOT_FOUND with the field kProgramField: the host has no such program. CANCELLED, and the errors
  // of CellCommand.
  Result<CommandEnd> Execute(const CellCommand& command, const ByteSink& sink);

  // At most `max_bytes` of a command that ends well; what it says where it does not is the error.
  Result<std::string> Capture(const CellCommand& command, size_t max_bytes);

  // A file of the cell. INVALID_ARGUMENT: it has another size.
  Status Fetch(const std::string& path, uint64_t size, const ByteSink& sink);
  // The same, if it has at most `max_bytes`.
  Result<std::string> ReadSmall(const std::string& path, size_t max_bytes);

 private:
  ImageCell(const Client* client, int signals);
  std::string Run() const { return "/cell/runs/" + run_; }
  Result<uint64_t> BytesBelow(const std::string& directory);

  const Client& client_;
  const supervisor::v1::SupervisorStub stub_;
  const int signals_;
  std::string cell_, run_;  // their ids
};

// A layout that was unpacked in the cell.
class CellLayout final : public image::LayoutFiles {
 public:
  // `cell` outlives it.
  CellLayout(ImageCell* cell, std::string directory)
      : cell_(cell), directory_(std::move(directory)) {}
  Result<std::string> Read(const std::string& name, size_t max_bytes) override;

 private:
  ImageCell* const cell_;
  const std::string directory_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_IMAGE_CELL_H_
