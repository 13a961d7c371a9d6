// image pull|load|list|inspect|rm|gc|commit.
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "common/message/message_json.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/image_name.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"
#include "ctl/changes/changes_client.h"
#include "ctl/client/client.h"
#include "ctl/image/image_load.h"
#include "ctl/image/image_pull.h"
#include "ctl/image/image_report.h"
#include "ctl/image/image_view.h"
#include "odyssey/supervisor/v1/image.stub.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::ImagesStub;

constexpr int kStoreCallMs = 600'000;  // it packs, or removes, what has many files
constexpr char kListImages[] = "odyssey-ctl image list lists the images.";

std::string Safe(const std::string& text) { return Sanitize(text, Lines::kOne); }

// Runs `body` with the store, or reports why there is none.
template <typename Body>
int WithImages(const Invocation& call, const std::string& what, Body body) {
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, call.locations);
  if (!client.ok()) return call.console->Fail(ExplainConnect(what, client.status()));
  return body(*client, ImagesStub(client->channel()));
}

int FailCall(const Console& console, const Client& client, const std::string& what,
             const Status& status) {
  Failure failure = client.Explain(what, InWords(status, {{"reference", "NAME"}}));
  if (status.code() == Code::kNotFound && failure.next.empty()) failure.next = kListImages;
  return console.Fail(failure);
}

int PullCommand(const Invocation& call) {
  const Result<PullOptions> options = ReadPullOptions(call.options);
  if (options.ok()) return PullImage(call, *options);
  return call.console->Fail({"image pull", options.status().message(),
                             "odyssey-ctl image pull --help lists the options."});
}

int ListCommand(const Invocation& call) {
  return WithImages(call, "list images", [&](const Client& client, const ImagesStub& stub) {
    supervisor::v1::ListImagesRequest request;
    request.set_owner_uid(getuid());
    request.set_all(call.options.Has("all"));
    supervisor::v1::ListImagesResponse response;
    const Status status = stub.ListImages({kQuickCallMs}, request, &response);
    if (!status.ok()) return call.console->Fail(client.Explain("list images", status));
    if (call.console->json) {
      call.console->PrintJson(message::ToJson(response));
    } else {
      call.console->Print(ImageTable(response, request.all()));
    }
    return kExitOk;
  });
}

int InspectCommand(const Invocation& call) {
  const std::string name = call.options.Word(0), what = "inspect image " + name;
  if (const Status status = CheckImageName(name); !status.ok()) {
    return call.console->Fail({"inspect image", "NAME " + status.message(), kListImages});
  }
  return WithImages(call, what, [&](const Client& client, const ImagesStub& stub) {
    supervisor::v1::InspectImageRequest request;
    request.set_owner_uid(getuid());
    request.set_reference(name);
    supervisor::v1::InspectImageResponse response;
    const Status status = stub.InspectImage({kQuickCallMs}, request, &response);
    if (!status.ok()) return FailCall(*call.console, client, what, status);
    if (call.console->json) {
      call.console->PrintJson(ImageJson(response));
    } else {
      call.console->Print(ImageText(response.image()));
    }
    return kExitOk;
  });
}

int RemoveCommand(const Invocation& call) {
  return WithImages(call, "remove image", [&](const Client& client, const ImagesStub& stub) {
    int code = kExitOk;
    for (const std::string& name : call.options.words()) {
      if (const Status status = CheckImageName(name); !status.ok()) {
        code = call.console->Fail({"remove image", "NAME " + status.message(), kListImages});
        continue;
      }
      supervisor::v1::RemoveImageRequest request;
      request.set_owner_uid(getuid());
      request.set_reference(name);
      supervisor::v1::RemoveImageResponse response;
      const Status status = stub.RemoveImage({kCellCallMs}, request, &response);
      if (!status.ok()) {
        code = FailCall(*call.console, client, "remove image " + name, status);
        continue;
      }
      if (call.console->json) {
        call.console->PrintJson(message::ToJson(response));
        continue;
      }
      for (const std::string& removed : response.removed_names()) {
        call.console->PrintLine("removed " + Safe(removed));
      }
      if (!response.removed_image().empty()) {
        call.console->PrintLine("removed " + Safe(response.removed_image()));
      }
    }
    return code;
  });
}

int CollectCommand(const Invocation& call) {
  return WithImages(call, "remove layers", [&](const Client& client, const ImagesStub& stub) {
    supervisor::v1::CollectImagesResponse response;
    const Status status = stub.CollectImages({kStoreCallMs}, {}, &response);
    if (!status.ok()) return call.console->Fail(client.Explain("remove layers", status));
    if (call.console->json) {
      call.console->PrintJson(message::ToJson(response));
    } else {
      const char* const layers = response.layers() == 1 ? " layer, freed " : " layers, freed ";
      call.console->PrintLine("removed " + std::to_string(response.layers()) + layers +
                              FormatSize(response.bytes()));
    }
    return kExitOk;
  });
}

int CommitCommand(const Invocation& call) {
  const Console& console = *call.console;
  const std::string cell = call.options.Word(0), name = call.options.Word(1);
  const std::string what = "commit " + cell + " to an image";
  if (cell.rfind("ses_", 0) == 0) {
    return console.Fail({what, "CELL \"" + cell + "\": expected a cell, not a session",
                         "odyssey-ctl cell list lists the cells."});
  }
  if (const Status status = CheckImageName(name); !status.ok()) {
    return console.Fail({what, "NAME " + status.message(), ""});
  }
  Failure failure;
  const Result<ChangesClient> found = ChangesClient::Connect(cell, call.locations, &failure);
  if (!found.ok()) return console.Fail(failure);
  return WithImages(call, what, [&](const Client& client, const ImagesStub& stub) {
    supervisor::v1::CommitImageRequest request;
    *request.mutable_key() = found->key();
    request.set_owner_uid(getuid());
    request.set_name(name);
    request.set_comment(call.options.Text("comment"));
    supervisor::v1::CommitImageResponse response;
    const Status status = stub.CommitImage({kStoreCallMs}, request, &response);
    const TypedWords words = {{"key", "CELL"}, {"name", "NAME"}, {"comment", "--comment"}};
    if (!status.ok()) return console.Fail(client.Explain(what, InWords(status, words)));
    PrintStored(console, {{name, response.image(), 0}});
    return kExitOk;
  });
}

}  // namespace

std::vector<Command> ImageCommands() {
  return {
      {.name = "image pull",
       .summary = "fetch a container image from a registry into the store",
       .positionals = {{.name = "REF"}},
       .options = PullOptionSpecs(),
       .notes = "REF is HOST[:PORT]/NAME[:TAG][@sha256:HEX]; of a digest no other image is taken. "
                "skopeo asks the registry in a\ncell that reaches it and what --reach names. "
                "Prints NAME@sha256:HEX.",
       .run = PullCommand},
      {.name = "image load",
       .summary = "put the images of an archive, or of an OCI layout, into the store",
       .positionals = {{.name = "FILE|DIR|-", .kind = ValueKind::kFile}},
       .options = {{.name = "as",
                    .kind = ValueKind::kText,
                    .value_name = "NAME",
                    .help = "call the image so (default: as it is called there)"},
                   {.name = "name",
                    .kind = ValueKind::kText,
                    .value_name = "NAME",
                    .help = "of several images only this one"},
                   PlatformOption()},
       .notes = "FILE is what docker save, podman save or skopeo copy wrote, packed or not; - is "
                "such a file on stdin. DIR has an\nindex.json.",
       .run = LoadImages},
      {.name = "image list",
       .summary = "list images of the store",
       .options = {{.name = "all", .help = "of every user"}},
       .notes = "Your own, and root's.",
       .run = ListCommand},
      {.name = "image inspect",
       .summary = "print an image's layers and configuration",
       .positionals = {{.name = "NAME"}},
       .notes = "NAME may be a digest, sha256:HEX. With -o json the manifest and the configuration "
                "too.",
       .run = InspectCommand},
      {.name = "image rm",
       .summary = "forget names of images, and an image with its last name",
       .positionals = {{.name = "NAME", .many = true}},
       .notes = "Cells of the image go on. image gc removes its layers.",
       .run = RemoveCommand},
      {.name = "image gc",
       .summary = "remove layers that no image and no cell uses",
       .notes = "Of all users.",
       .run = CollectCommand},
      {.name = "image commit",
       .summary = "make an image of a cell's image and what the cell has changed",
       .positionals = {{.name = "CELL"}, {.name = "NAME"}},
       .options = {{.name = "comment",
                    .kind = ValueKind::kText,
                    .value_name = "TEXT",
                    .help = "for the history of the image"}},
       .notes = "CELL is the NAME of exec --cell NAME, or the id of a cell. No command runs in it; "
                "it ends, and its directories stay.",
       .run = CommitCommand},
  };
}

}  // namespace odyssey::ctl
