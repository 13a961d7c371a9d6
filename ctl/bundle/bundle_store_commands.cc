// bundle init|build|install|list|inspect|export|import|rm.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/message/message_json.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/status_line.h"
#include "ctl/base/units.h"
#include "ctl/bundle/bundle_archive.h"
#include "ctl/bundle/bundle_output.h"
#include "ctl/bundle/bundle_upload.h"
#include "ctl/bundle/named_bundle.h"
#include "ctl/client/client.h"
#include "ctl/policy/policy_file.h"
#include "odyssey/agent/v1/bundle.stub.h"

namespace odyssey::ctl {
namespace {

using agent::v1::Bundle;
using agent::v1::BundleServiceStub;

constexpr char kReferenceNotes[] =
    "REF is the path of a bundle directory, or NS/ID, or ID of the namespace local, with @VERSION "
    "or "
    "@latest; or sha256:HEX.\n"
    "Without a version it is the latest one.";

std::string Safe(const std::string& text) { return Sanitize(text, Lines::kOne); }

// Runs `body` with a client, or reports why there is none. `body`'s failure is reported as `what`.
template <typename Body>
int WithAgentd(const Invocation& call, const std::string& what, Body body) {
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return call.console->Fail(ExplainConnect(what, client.status()));
  const Status status = body(*client, BundleServiceStub(client->channel()));
  return status.ok() ? kExitOk : call.console->Fail(client->Explain(what, status));
}

void Print(const Console& console, const Bundle& bundle, const std::string& line) {
  console.json ? console.PrintJson(message::ToJson(bundle)) : console.PrintLine(Safe(line));
}

UploadProgress ShowUpload(StatusLine* line, const std::string& what) {
  return [line, what](uint64_t sent) { line->Show(what + "  " + FormatSize(sent)); };
}

int Init(const Invocation& call) {
  const std::string path = call.options.Word(0);
  const Result<std::string> id = InitBundle(path);
  if (!id.ok()) return call.console->Fail({"init " + path, id.status().message(), ""});
  if (call.console->json) {
    call.console->PrintJson({{"id", *id}, {"path", path}});
  } else {
    call.console->PrintLine(Safe("initialized " + *id + " " + path));
  }
  return kExitOk;
}

int BuildTo(const Console& console, const std::string& source, const std::string& output) {
  const Result<Built> built = BuildInto(source, output);
  if (!built.ok()) {
    return console.Fail({"build " + source, built.status().message(),
                         "odyssey-ctl bundle validate DIR lists every problem of a bundle."});
  }
  if (console.json) {
    console.PrintJson({{"id", built->id},
                       {"version", built->version},
                       {"digest", built->digest},
                       {"path", built->path}});
  } else {
    console.PrintLine(Safe("built " + built->id + "@" + built->version + " " + built->digest + " " +
                           built->path));
  }
  return kExitOk;
}

int InstallFrom(const Invocation& call, const std::string& what, const std::string& source) {
  const Result<std::string> directory = BundleDirectory(source);
  if (!directory.ok()) return call.console->Fail({what, directory.status().message(), ""});
  return WithAgentd(call, what, [&](const Client& client, const BundleServiceStub&) -> Status {
    ImportOptions options;
    options.set_force(call.options.Has("force"));
    StatusLine line(*call.console);
    line.Show(what + "  packing");
    ODY_ASSIGN_OR_RETURN(const Bundle bundle, UploadBundle(client.channel(), *directory, options,
                                                           ShowUpload(&line, what)));
    line.Erase();
    Print(*call.console, bundle,
          "installed " + bundle.id() + "@" + bundle.version() + " " + bundle.digest() + " " +
              bundle.path());
    return OkStatus();
  });
}

int Build(const Invocation& call) {
  const std::string source = call.options.Word(0);
  const std::string output = call.options.Text("output");
  if (output.empty()) return InstallFrom(call, "build " + source, source);
  const Result<std::string> directory = BundleDirectory(source);
  if (directory.ok()) return BuildTo(*call.console, *directory, output);
  return call.console->Fail({"build " + source, directory.status().message(), ""});
}

int Import(const Invocation& call) {
  const std::string file = call.options.Word(0);
  return WithAgentd(
      call, "import " + file, [&](const Client& client, const BundleServiceStub&) -> Status {
        ImportOptions options;
        options.set_force(call.options.Has("force"));
        options.set_expected_digest(call.options.Text("digest"));
        StatusLine line(*call.console);
        ODY_ASSIGN_OR_RETURN(
            const Bundle bundle,
            UploadArchive(client.channel(), file, options, ShowUpload(&line, "import " + file)));
        line.Erase();
        Print(*call.console, bundle, "imported " + NameOf(bundle));
        return OkStatus();
      });
}

int Install(const Invocation& call) {
  const std::string source = call.options.Word(0);
  if (IsArchiveName(source)) return Import(call);
  return InstallFrom(call, "install " + source, source);
}

int List(const Invocation& call) {
  const Console& console = *call.console;
  return WithAgentd(call, "list bundles", [&](const Client&, const BundleServiceStub& stub) {
    agent::v1::ListBundlesResponse response;
    const Status status = stub.ListBundles({kQuickCallMs}, {}, &response);
    if (!status.ok()) return status;
    if (console.json) {
      console.PrintJson(message::ToJson(response));
    } else if (response.bundles().empty()) {
      console.PrintLine("no bundles installed");
    }
    for (const Bundle& bundle : response.bundles()) {
      if (!console.json) console.PrintLine(Safe(NameOf(bundle) + " " + bundle.path()));
    }
    return status;
  });
}

void PrintInspected(const Console& console, const Bundle& bundle, bool installed) {
  if (!console.json) console.PrintLine("bundle metadata");
  Json shown = message::ToJson(bundle);
  // Of an installation alone.
  for (const char* field : {"shared", "owner_uid"}) {
    if (!installed) shown.erase(field);
  }
  shown["manifest"] = Json::parse(bundle.manifest(), nullptr, /*allow_exceptions=*/false);
  console.PrintJson(shown);
}

int InspectDirectory(const Console& console, const std::string& directory) {
  const Result<Bundle> bundle = DescribeDirectory(directory);
  if (!bundle.ok()) return console.Fail({"inspect " + directory, bundle.status().message(), ""});
  PrintInspected(console, *bundle, /*installed=*/false);
  return kExitOk;
}

int Inspect(const Invocation& call) {
  const Console& console = *call.console;
  const std::string what = "inspect " + call.options.Word(0);
  const Result<NamedBundle> named = LookAtName(call.options.Word(0));
  if (!named.ok()) return console.Fail({what, named.status().message(), ""});
  if (!named->directory.empty()) return InspectDirectory(console, named->directory);
  return WithAgentd(call, what, [&](const Client&, const BundleServiceStub& stub) {
    agent::v1::InspectBundleRequest request;
    request.set_reference(named->reference);
    agent::v1::InspectBundleResponse response;
    const Status status = stub.InspectBundle({kCellCallMs}, request, &response);
    if (status.ok()) PrintInspected(console, response.bundle(), /*installed=*/true);
    return status;
  });
}

std::string ArchiveName(const Bundle& bundle) {
  return bundle.id() + "-" + bundle.version() + kArchiveSuffix;
}

int Export(const Invocation& call) {
  const Console& console = *call.console;
  const std::string what = "export " + call.options.Word(0);
  const std::string output = call.options.Has("output") ? call.options.Text("output") : ".";
  const Result<NamedBundle> named = LookAtName(call.options.Word(0));
  if (!named.ok()) return console.Fail({what, named.status().message(), ""});
  Bundle bundle;
  std::optional<OutputFile> file;
  // Where only a directory is named, the file is named after the bundle.
  const ArchiveOpener open = [&](const Bundle& found) -> Result<package::ByteSink> {
    bundle = found;
    ODY_ASSIGN_OR_RETURN(OutputFile created, OutputFile::Create(output, ArchiveName(bundle)));
    file.emplace(std::move(created));
    return package::ByteSink([&](std::string_view bytes) { return file->Write(bytes); });
  };
  const auto finish = [&]() -> Status {
    bundle.set_path(file->path());
    ODY_RETURN_IF_ERROR(file->Commit());
    Print(console, bundle, "exported " + bundle.path());
    return OkStatus();
  };
  if (!named->directory.empty()) {
    Status status = WritePackedArchive(named->directory, open);
    if (status.ok()) status = finish();
    return status.ok() ? kExitOk : console.Fail({what, status.message(), ""});
  }
  return WithAgentd(call, what, [&](const Client& client, const BundleServiceStub&) -> Status {
    ODY_RETURN_IF_ERROR(WriteInstalledArchive(client.channel(), named->reference, open));
    return finish();
  });
}

int Remove(const Invocation& call) {
  const std::string reference = call.options.Word(0);
  return WithAgentd(call, "remove " + reference, [&](const Client&, const BundleServiceStub& stub) {
    agent::v1::RemoveBundleRequest request;
    request.set_reference(reference);
    agent::v1::RemoveBundleResponse response;
    const Status status = stub.RemoveBundle({kCellCallMs}, request, &response);
    if (!status.ok()) return status;
    Print(*call.console, response.bundle(), "removed " + NameOf(response.bundle()));
    return status;
  });
}

}  // namespace

std::vector<Command> BundleStoreCommands() {
  const OptionSpec force = {.name = "force",
                            .help = "replace the version if it is installed with another digest"};
  const PositionalSpec reference = {.name = "REF"};
  return {
      {.name = "bundle init",
       .summary = "write the files of a new bundle",
       .positionals = {{.name = "DIR", .kind = ValueKind::kDirectory}},
       .notes = "The bundle's id is made of the directory's name.",
       .run = Init},
      {.name = "bundle build",
       .summary = "pack a bundle directory and install it as local/ID@VERSION",
       .positionals = {{.name = "DIR", .kind = ValueKind::kDirectory}},
       .options = {{.name = "output",
                    .kind = ValueKind::kDirectory,
                    .value_name = "D",
                    .help = "make D/local/ID/VERSION, and install nothing; needs no daemon"},
                   force},
       .run = Build},
      {.name = "bundle install",
       .summary = "install a bundle directory, or an archive",
       .positionals = {{.name = "SOURCE", .kind = ValueKind::kFile}},
       .options = {force,
                   {.name = "digest",
                    .kind = ValueKind::kText,
                    .value_name = "SHA256",
                    .help = "refuse an archive with another digest"}},
       .notes = "A directory is packed by this program: agentd need not be able to read it.",
       .run = Install},
      {.name = "bundle list", .summary = "installed bundles", .run = List},
      {.name = "bundle inspect",
       .summary = "metadata, agents, files and manifest of an installed bundle",
       .positionals = {reference},
       .notes = kReferenceNotes,
       .run = Inspect},
      {.name = "bundle export",
       .summary = "write an installed bundle as an archive",
       .positionals = {reference},
       .options = {{.name = "output",
                    .kind = ValueKind::kFile,
                    .value_name = "PATH",
                    .help = "a file, or a directory for ID-VERSION.odyssey (default: .)"}},
       .notes = kReferenceNotes,
       .run = Export},
      {.name = "bundle import",
       .summary = "install an archive",
       .positionals = {{.name = "FILE", .kind = ValueKind::kFile}},
       .options = {force,
                   {.name = "digest",
                    .kind = ValueKind::kText,
                    .value_name = "SHA256",
                    .help = "refuse an archive with another digest"}},
       .run = Import},
      {.name = "bundle rm",
       .summary = "uninstall a bundle",
       .positionals = {reference},
       .notes = "REF is no path. Sessions that were made from it keep it.",
       .run = Remove},
  };
}

}  // namespace odyssey::ctl
