#include "hub/program/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "common/oci/digest.h"
#include "common/os/atomic_file.h"
#include "common/os/file.h"
#include "common/os/unique_fd.h"
#include "ctl/base/console.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/status_line.h"
#include "ctl/base/units.h"
#include "ctl/hub/hub_verbs.h"
#include "hub/artifact/archive.h"
#include "hub/artifact/verify.h"
#include "hub/server/hub_server.h"
#include "hub/transfer/hub_post.h"
#include "hub/trust/signature.h"
#include "hub/trust/trusted_keys.h"

namespace odyssey::hub {
namespace {

using artifact::Artifact;
using ctl::Console;
using ctl::Json;
using ctl::ParsedOptions;

constexpr size_t kMaxKeyBytes = 4096;
constexpr size_t kMaxArchiveBytes = artifact::kMaxArtifactBytes + 1024 * 1024;
constexpr size_t kMaxPublishAnswer = 1024 * 1024;
constexpr unsigned kArchiveMode = 0644;
constexpr unsigned kSecretMode = 0600;
constexpr char kSystemKeys[] = "/etc/odyssey/trusted-keys";
constexpr char kOwnKeys[] = "/.config/odyssey/trusted-keys";

std::string Environment(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

void Print(const Console& console, const Json& json, const std::string& line) {
  console.json ? console.PrintJson(json) : console.PrintLine(ctl::Sanitize(line, ctl::Lines::kOne));
}

Result<transfer::HubPost> MakePost(const ParsedOptions& options, const char* path,
                                   std::string body) {
  std::string url = Environment("ODYSSEY_HUB_URL");
  if (url.empty()) url = ctl::kDefaultHub;
  if (options.Has("registry")) url = options.Text("registry");
  if (options.Has("hub")) url = options.Text("hub");
  ODY_ASSIGN_OR_RETURN(transfer::HubUrl hub, transfer::ParseHubUrl(url));
  return transfer::HubPost{std::move(hub), path, std::move(body), Environment("ODYSSEY_HUB_TOKEN")};
}

// With what has been moved on the status line.
Result<std::string> SendAndReceive(const Console& console, const std::string& doing,
                                   const transfer::HubPost& post, size_t max_bytes) {
  ctl::StatusLine line(console);
  return transfer::PostToHub(post, max_bytes, [&](uint64_t sent, uint64_t received) {
    line.Show(doing + "  " + ctl::FormatSize(received > 0 ? received : sent) + "  " +
              post.hub.base);
  });
}

// The first word of the file.
Result<std::string> ReadKey(const std::string& path) {
  ODY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxKeyBytes));
  return text.substr(0, text.find_first_of(" \r\n"));
}

Result<std::string> ReadSecretKey(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "stat " + path);
  if ((info.st_mode & 077) != 0) {
    return PermissionDenied("key " + path + ": other users can read it; chmod 600 it");
  }
  return ReadKey(path);
}

Status Push(const Console& console, const ParsedOptions& options) {
  if (!options.Has("to")) return InvalidArgument("--to NS/ID[:VERSION] is missing");
  ODY_ASSIGN_OR_RETURN(const package::Reference target,
                       artifact::ParsePublishTarget(options.Text("to")));
  ODY_ASSIGN_OR_RETURN(const std::string archive, ReadFile(options.Word(0), kMaxArchiveBytes));
  ODY_ASSIGN_OR_RETURN(Artifact read, artifact::ReadArchive(archive));
  ODY_ASSIGN_OR_RETURN(const oci::Config bundle, oci::ReadConfig(read.config));
  ODY_RETURN_IF_ERROR(artifact::CheckTarget(target, bundle));

  artifact::Publish publish = {target.ns + "/" + bundle.id, bundle.version, "", {}};
  ODY_ASSIGN_OR_RETURN(publish.artifact, artifact::InNamespace(std::move(read), target.ns));
  publish.digest = artifact::DigestOf(publish.artifact.manifest);
  if (options.Has("sign")) {
    ODY_ASSIGN_OR_RETURN(const std::string key, ReadSecretKey(options.Text("sign")));
    ODY_ASSIGN_OR_RETURN(publish.artifact.signature, trust::Sign(key, publish.digest));
  }
  ODY_ASSIGN_OR_RETURN(const transfer::HubPost post,
                       MakePost(options, artifact::kPublishPath, artifact::WritePublish(publish)));
  ODY_RETURN_IF_ERROR(SendAndReceive(console, "publishing", post, kMaxPublishAnswer).status());
  Print(console,
        {{"namespace", target.ns},
         {"id", bundle.id},
         {"version", bundle.version},
         {"digest", publish.digest},
         {"signed", !publish.artifact.signature.empty()}},
        "published " + bundle.id + "@" + bundle.version + " " + publish.digest);
  return OkStatus();
}

// By the keys of --verify, and by those that the host and the user trust for the namespace.
Status CheckSigned(const ParsedOptions& options, const oci::Config& bundle,
                   const artifact::Pulled& pulled) {
  const std::string& signature = pulled.artifact.signature;
  std::vector<std::string> keys;
  for (const std::string& path : options.All("verify")) {
    ODY_ASSIGN_OR_RETURN(std::string key, ReadKey(path));
    keys.push_back(std::move(key));
  }
  if (!keys.empty()) ODY_RETURN_IF_ERROR(trust::CheckSignature(signature, pulled.digest, keys));

  std::vector<std::string> files = {kSystemKeys};
  if (const std::string home = Environment("HOME"); !home.empty()) files.push_back(home + kOwnKeys);
  ODY_ASSIGN_OR_RETURN(const std::vector<trust::TrustedKey> trusted, trust::ReadTrustedKeys(files));
  const std::vector<std::string> needed = trust::KeysOf(trusted, bundle.ns);
  if (needed.empty()) return OkStatus();
  return trust::CheckSignature(signature, pulled.digest, needed);
}

std::string ArchivePath(std::string path, const oci::Config& bundle) {
  struct stat info;
  const bool directory = stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  return directory ? path + "/" + bundle.id + "-" + bundle.version + ".odyssey" : path;
}

// Without --archive the archive goes to standard output, from which odyssey-ctl imports it.
Status Pull(const Console& console, const ParsedOptions& options) {
  ODY_ASSIGN_OR_RETURN(const package::Reference asked,
                       artifact::ParsePullReference(options.Word(0)));
  const std::string digest = asked.digest.empty() ? "" : oci::DigestOf(asked.digest);
  const std::string body = artifact::WritePull({asked.ns + "/" + asked.id, asked.version, digest});
  ODY_ASSIGN_OR_RETURN(const transfer::HubPost post, MakePost(options, artifact::kPullPath, body));
  ODY_ASSIGN_OR_RETURN(const std::string answer,
                       SendAndReceive(console, "pulling", post, artifact::kMaxBodyBytes));
  Result<artifact::Pulled> pulled = artifact::ReadPulled(answer);
  if (!pulled.ok()) return InvalidArgument("hub response: " + pulled.status().message());
  ODY_ASSIGN_OR_RETURN(const oci::Config bundle, artifact::CheckPulled(asked, *pulled));
  ODY_RETURN_IF_ERROR(CheckSigned(options, bundle, *pulled));

  ODY_ASSIGN_OR_RETURN(const std::string archive, artifact::WriteArchive(pulled->artifact));
  if (!options.Has("archive")) return WriteAll(STDOUT_FILENO, archive);
  const std::string path = ArchivePath(options.Text("archive"), bundle);
  ODY_RETURN_IF_ERROR(WriteFileAtomically(path, archive, kArchiveMode));
  Print(console,
        {{"namespace", bundle.ns},
         {"id", bundle.id},
         {"version", bundle.version},
         {"digest", pulled->digest},
         {"path", path}},
        "pulled " + artifact::NameOf(bundle) + " " + path);
  return OkStatus();
}

Status Serve(const Console& console, const ParsedOptions& options) {
  const std::string text = options.Has("bind") ? options.Text("bind") : ctl::kDefaultBind;
  ODY_ASSIGN_OR_RETURN(const server::Bind bind, server::ParseBind(text));
  const std::string token = Environment("ODYSSEY_HUB_TOKEN");
  if (!bind.loopback && token.empty()) {
    return FailedPrecondition("bind " + text +
                              ": other hosts could publish; set ODYSSEY_HUB_TOKEN");
  }
  const server::Tags tags =
      options.Has("allow-replace") ? server::Tags::kReplaceable : server::Tags::kImmutable;
  ODY_ASSIGN_OR_RETURN(server::HubDirectory directory,
                       server::HubDirectory::Open(options.Word(0), tags));
  ODY_ASSIGN_OR_RETURN(const auto hub,
                       server::HubServer::Listen(bind, std::move(directory), token));
  const std::string host =
      bind.address.find(':') == std::string::npos ? bind.address : "[" + bind.address + "]";
  const std::string url = "http://" + host + ":" + std::to_string(hub->port());
  Print(console, {{"url", url}, {"directory", options.Word(0)}},
        "serving " + options.Word(0) + " on " + url);
  hub->Serve();
  return OkStatus();
}

// Over nothing.
Status WriteNewFile(const std::string& path, const std::string& text, unsigned mode) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd) return ErrnoStatus(errno, "create " + path);
  return WriteAll(fd.get(), text);
}

Status Keygen(const Console& console, const ParsedOptions& options) {
  const std::string path = options.Word(0), open_path = path + ".pub";
  ODY_ASSIGN_OR_RETURN(const trust::KeyPair pair, trust::MakeKeyPair());
  ODY_RETURN_IF_ERROR(WriteNewFile(path, pair.secret + "\n", kSecretMode));
  ODY_RETURN_IF_ERROR(WriteNewFile(open_path, pair.open + "\n", kArchiveMode));
  Print(console, {{"secret", path}, {"public", open_path}, {"key", pair.open}},
        "made " + path + " " + open_path + " " + pair.open);
  return OkStatus();
}

struct Verb {
  std::string_view name;
  Status (*run)(const Console&, const ParsedOptions&);
  const char* subject;  // the option that a failure names; null: the word
};
// A pushed archive may be a file without a name.
constexpr Verb kVerbs[] = {{ctl::kPushVerb, Push, "to"},
                           {ctl::kPullVerb, Pull, nullptr},
                           {ctl::kServeVerb, Serve, nullptr},
                           {ctl::kKeygenVerb, Keygen, nullptr}};

int RunParsed(const Verb& verb, const ctl::Command& spec,
              const std::vector<std::string>& arguments) {
  const bool json = !arguments.empty() && arguments[0] == "--json";
  const Console console = ctl::MakeConsole(json);
  const std::vector<std::string> own(arguments.begin() + (json ? 1 : 0), arguments.end());
  const Result<ParsedOptions> options = ctl::ParseOptions(spec.options, spec.positionals, own);
  const std::string what(verb.name);
  if (!options.ok()) {
    console.Fail({what, options.status().message(), ""});
    return ctl::kExitUsage;
  }
  const Status status = verb.run(console, *options);
  if (status.ok()) return ctl::kExitOk;
  const std::string subject =
      verb.subject == nullptr ? options->Word(0) : options->Text(verb.subject);
  return console.Fail({what + " " + subject, status.message(), ""});
}

}  // namespace

int RunVerb(const std::vector<std::string>& arguments) {
  const std::string name = arguments.size() < 2 ? std::string() : arguments[0] + " " + arguments[1];
  for (const Verb& verb : kVerbs) {
    for (const ctl::Command& spec : ctl::HubVerbs()) {
      if (verb.name != name || spec.name != name) continue;
      return RunParsed(verb, spec, {arguments.begin() + 2, arguments.end()});
    }
  }
  ctl::MakeConsole(false).Fail({"odyssey-hub", "no such verb", "odyssey-ctl executes it."});
  return ctl::kExitUsage;
}

}  // namespace odyssey::hub
