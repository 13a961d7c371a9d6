#include "ctl/image/image_load.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/join.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/image_name.h"
#include "ctl/base/signal_fd.h"
#include "ctl/base/status_line.h"
#include "ctl/base/units.h"
#include "ctl/client/client.h"
#include "ctl/file/named_place.h"
#include "ctl/image/image_cell.h"
#include "ctl/image/image_import.h"
#include "ctl/image/image_report.h"
#include "ctl/image/image_signals.h"
#include "ctl/image/image_source.h"

namespace odyssey::ctl {
namespace {

constexpr char kStdin[] = "-";

bool IsName(const std::string& there, const std::string& name) {
  return there == name || there == name + ":latest";
}

std::string ListOf(const std::vector<std::vector<std::string>>& there) {
  std::vector<std::string> all;
  for (const std::vector<std::string>& names : there) {
    all.push_back(names.empty() ? "one without a name" : names.front());
  }
  return Join(all, ", ");
}

class Load final {
 public:
  Load(const Console& console, const Client& client, int signals)
      : client_(client), signals_(signals), line_(console) {}

  // `word` is what the person named. Adds each image as it is stored.
  Status Run(const std::string& word, const ParsedOptions& options, std::vector<NewImage>* stored) {
    ODY_ASSIGN_OR_RETURN(const image::Platform platform, ReadPlatform(options));
    ODY_RETURN_IF_ERROR(Open(word, platform));
    ODY_ASSIGN_OR_RETURN(const std::vector<ChosenImage> chosen,
                         ChooseImages(source_->names(), options.Text("name"), options.Text("as")));
    for (const ChosenImage& image : chosen) ODY_RETURN_IF_ERROR(Store(image, stored));
    return OkStatus();
  }

 private:
  Status Open(const std::string& word, const image::Platform& platform) {
    if (word == kStdin) {
      ODY_RETURN_IF_ERROR(Prepare({}));
      uint64_t bytes = 0;
      ODY_RETURN_IF_ERROR(cell_->PutStream("archive", STDIN_FILENO, [&](uint64_t sent) {
        bytes = sent;
        line_.Show("reading stdin  " + FormatSize(sent));
      }));
      if (bytes == 0) return InvalidArgument("stdin: it is empty");
      return OpenInCell(cell_->Inbox() + "/archive", platform);
    }
    const Walk& walk = places_.Look(word, Links::kFileItself);
    ODY_RETURN_IF_ERROR(walk.status);
    const NamedPlace& place = *walk.place;
    if (place.is_directory()) {
      directory_.emplace(place.fd());
      ODY_ASSIGN_OR_RETURN(source_, OpenLayout(&*directory_, LayersOf(&*directory_), platform));
      return OkStatus();
    }
    ODY_ASSIGN_OR_RETURN(const UniqueFd file, place.OpenFile());
    struct stat info {};
    if (fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "look at " + word);
    if (info.st_size == 0) return InvalidArgument("it is empty");
    policy::SandboxRequest sandbox;
    sandbox.mounts.push_back(
        {.source = place.name(), .target = place.name(), .identity = place.identity()});
    ODY_RETURN_IF_ERROR(Prepare(std::move(sandbox)));
    // skopeo takes no path with ':'.
    const std::string path = cell_->Work() + "/archive";
    const Result<std::string> linked =
        cell_->Capture({.argv = {"ln", "-s", "--", place.name(), path}}, 0);
    ODY_RETURN_IF_ERROR(linked.status());
    return OpenInCell(path, platform);
  }

  Status Prepare(policy::SandboxRequest sandbox) {
    ODY_ASSIGN_OR_RETURN(cell_, ImageCell::Prepare(&client_, signals_, std::move(sandbox)));
    return OkStatus();
  }

  Status OpenInCell(const std::string& path, const image::Platform& platform) {
    line_.Show("unpacking");
    ODY_ASSIGN_OR_RETURN(source_, OpenArchive(cell_.get(), path, platform));
    return OkStatus();
  }

  Status Store(const ChosenImage& chosen, std::vector<NewImage>* stored) {
    ODY_ASSIGN_OR_RETURN(const ImageParts parts, source_->Open(chosen.image));
    ODY_ASSIGN_OR_RETURN(const image::Manifest manifest, image::ReadManifest(parts.manifest));
    std::vector<std::string> names = chosen.names;
    if (names.empty()) names.emplace_back();
    for (const std::string& name : names) {
      supervisor::v1::ImportImageStart start;
      start.set_owner_uid(getuid());
      start.set_name(name);
      start.set_manifest(parts.manifest);
      start.set_config(parts.config);
      ImageImport import(client_, signals_, std::move(start));
      ODY_RETURN_IF_ERROR(import.Begin());
      ODY_ASSIGN_OR_RETURN(supervisor::v1::ImageInfo image,
                           import.Send(manifest, parts.layers, [&](uint64_t sent, uint64_t all) {
                             line_.Show("into the store  " + FormatSize(sent) + " of " +
                                        FormatSize(all) + "  " + name);
                           }));
      stored->push_back({name, std::move(image), import.sent()});
    }
    return OkStatus();
  }

  const Client& client_;
  const int signals_;
  StatusLine line_;
  NamedPlaces places_;
  std::unique_ptr<ImageCell> cell_;
  std::optional<image::LayoutDirectory> directory_;
  std::unique_ptr<ImageSource> source_;
};

}  // namespace

Result<std::vector<ChosenImage>> ChooseImages(const std::vector<std::vector<std::string>>& there,
                                              const std::string& name, const std::string& as) {
  std::vector<ChosenImage> out;
  for (size_t i = 0; i < there.size(); ++i) {
    if (name.empty()) {
      out.push_back({i, there[i]});
      continue;
    }
    const auto found = std::find_if(there[i].begin(), there[i].end(),
                                    [&](const std::string& each) { return IsName(each, name); });
    if (found != there[i].end()) out.push_back({i, {*found}});
  }
  if (out.empty()) {
    return NotFound("--name \"" + name +
                    "\": there is none of that name; there are: " + ListOf(there));
  }
  if (as.empty()) return out;
  if (out.size() > 1) {
    return InvalidArgument("--as " + as + ": there are " + std::to_string(out.size()) +
                           " images; --name chooses one of: " + ListOf(there));
  }
  out.front().names = {as};
  return out;
}

int LoadImages(const Invocation& call) {
  const Console& console = *call.console;
  for (const char* const option : {"as", "name"}) {
    const Status status = CheckImageName(call.options.Text(option));
    if (!status.ok()) {
      return console.Fail({"image load", "--" + std::string(option) + " " + status.message(), ""});
    }
  }
  const UniqueFd signals = MakeSignalFd(ImageSignals());
  const std::string what = "load " + call.options.Word(0);
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect(what, client.status()));
  std::vector<NewImage> stored;
  Status status;
  {
    Load load(console, *client, signals.get());
    status = load.Run(call.options.Word(0), call.options, &stored);
  }
  PrintStored(console, stored);
  if (status.ok()) return kExitOk;
  const std::string name = call.options.Has("as") ? "--as" : "its name there";
  Failure failure = client->Explain(what, InWords(status, {{"name", name}}));
  return FailImage(console, std::move(failure), status);
}

}  // namespace odyssey::ctl
