#include "ctl/image/image_pull.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "common/base/join.h"
#include "common/base/sha256.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/image_name.h"
#include "ctl/base/signal_fd.h"
#include "ctl/base/status_line.h"
#include "ctl/base/units.h"
#include "ctl/client/client.h"
#include "ctl/file/named_place.h"
#include "ctl/image/cosign.h"
#include "ctl/image/image_cell.h"
#include "ctl/image/image_import.h"
#include "ctl/image/image_report.h"
#include "ctl/image/image_signals.h"
#include "ctl/image/registry_credentials.h"
#include "ctl/image/skopeo_words.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::ImageInfo;

constexpr size_t kMaxCredentials = size_t{256} << 10;
constexpr size_t kMaxAuthority = size_t{1} << 20;
constexpr uint32_t kSilenceMs = 60'000;
// Of a directory of skopeo's beside the image: its version, and what it has of one layer twice.
constexpr uint64_t kMoreBytes = uint64_t{1} << 20;

constexpr char kPolicyFile[] = "policy.json";
constexpr char kCredentialsFile[] = "auth.json";
constexpr char kAuthorityFile[] = "registry.crt";
// Signatures are checked where no cell can interfere: by the store, under the operator's policy.
constexpr char kAcceptAnything[] = R"({"default": [{"type": "insecureAcceptAnything"}]})";

Result<std::string> ReadOptionFile(const ParsedOptions& options, const std::string& option,
                                   size_t most) {
  NamedPlaces places;
  const std::string path = options.Text(option);
  Result<std::string> text = places.Read(path, Links::kFileItself, most);
  if (text.ok()) return text;
  return Status(text.status().code(), "--" + option + ": " + text.status().message());
}

policy::SandboxRequest SandboxOf(const PullOptions& options) {
  policy::SandboxRequest sandbox;
  sandbox.network = policy::Network::kEgress;
  std::vector<egress::Destination> places = options.reach;
  places.insert(places.begin(), {options.reference.host, options.reference.port, "", ""});
  for (const egress::Destination& place : places) {
    sandbox.egress.rules.push_back(egress::RuleFor("image pull", place.host, place.port));
  }
  return sandbox;
}

std::string Join(const std::vector<std::string>& places, const std::string& option) {
  std::vector<std::string> words;
  for (const std::string& place : places) words.push_back(option + " " + place);
  return odyssey::Join(words, " ");
}

class Pull final {
 public:
  Pull(const Console& console, const Client& client, int signals, const PullOptions& options)
      : client_(client), signals_(signals), options_(options), line_(console) {}

  Result<NewImage> Run() {
    ODY_ASSIGN_OR_RETURN(cell_, ImageCell::Prepare(&client_, signals_, SandboxOf(options_)));
    std::vector<CellFile> files = {{kPolicyFile, kAcceptAnything}};
    if (!options_.credentials.empty()) files.push_back({kCredentialsFile, options_.credentials});
    if (!options_.authority.empty()) files.push_back({kAuthorityFile, options_.authority});
    ODY_RETURN_IF_ERROR(cell_->Put(files));

    ODY_RETURN_IF_ERROR(FindManifest());
    ODY_ASSIGN_OR_RETURN(const std::string config, Inspect({"--config"}, image::kMaxConfigBytes));
    if (const Status status = CheckDigest(config, manifest_.config.digest); !status.ok()) {
      return status;
    }
    supervisor::v1::ImportImageStart start;
    start.set_owner_uid(options_.owner);
    start.set_name(options_.name);
    start.set_manifest(manifest_text_);
    start.set_config(config);
    ImageImport import(client_, signals_, std::move(start));
    // Which rules hold for an image without a name is known when a cell is made of NAME@sha256:HEX.
    const bool has_name = !options_.name.empty();
    if (!has_name) ODY_RETURN_IF_ERROR(AddSignatures(import.start()).status());
    Status begun = import.Begin();
    if (has_name && begun.code() == Code::kPermissionDenied) {
      ODY_ASSIGN_OR_RETURN(const bool found, AddSignatures(import.start()));
      if (found) begun = import.Begin();
    }
    ODY_RETURN_IF_ERROR(begun);
    if (import.wants_layers()) ODY_RETURN_IF_ERROR(Download());
    ODY_ASSIGN_OR_RETURN(
        ImageInfo image,
        import.Send(
            manifest_,
            [&](const image::Blob& layer, const ByteSink& sink) {
              return cell_->Fetch(Place("image", layer.digest), layer.size, sink);
            },
            [&](uint64_t sent, uint64_t all) {
              line_.Show("into the store  " + FormatSize(sent) + " of " + FormatSize(all));
            }));
    return NewImage{options_.name, std::move(image), import.sent()};
  }

  // What to do about a failure, if that is known.
  const std::string& advice() const { return advice_; }

 private:
  // Where skopeo puts a blob of what it copies to `directory`.
  std::string Place(const std::string& directory, const std::string& digest) const {
    return cell_->Work() + "/" + directory + "/" + digest.substr(digest.find(':') + 1);
  }

  // "skopeo --policy FILE VERB …" with what speaks to the registry.
  std::vector<std::string> Skopeo(const std::string& verb, const std::string& prefix) const {
    std::vector<std::string> argv = {
        "skopeo",   "--policy",         cell_->Inbox() + "/" + kPolicyFile,
        "--tmpdir", cell_->Temporary(), verb};
    const bool tls = options_.transport == Transport::kTls;
    argv.push_back("--" + prefix + "tls-verify=" + (tls ? "true" : "false"));
    if (!options_.authority.empty()) {
      argv.insert(argv.end(), {"--" + prefix + "cert-dir", cell_->Inbox()});
    }
    if (options_.credentials.empty()) {
      argv.push_back("--" + prefix + "no-creds");
    } else {
      argv.insert(argv.end(), {"--authfile", cell_->Inbox() + "/" + kCredentialsFile});
    }
    return argv;
  }

  // Says what of a failure is the person's to change.
  Status Fail(const CommandEnd& end) {
    const RegistryReference& reference = options_.reference;
    std::vector<std::string> denied = end.denied;
    // skopeo asks by TLS first, where TLS is not asked for.
    if (options_.transport == Transport::kPlainHttp) std::erase(denied, reference.host + ":443");
    const std::string message = SkopeoError(end.errors);
    if (!denied.empty()) {
      advice_ = "The registry leads to what the cell does not reach; to let it: " +
                Join(denied, "--reach");
      return FailedPrecondition(message);
    }
    if (!end.unreached.empty()) return Unavailable(end.unreached);
    advice_ = AdviceOn(message, reference.registry);
    return FailedPrecondition(message);
  }

  Status Explained(const Status& status) {
    if (status.detail().field != kSilenceField) return status;
    advice_ = "It is down, or slow: --timeout TIME waits longer.";
    return Unavailable("the registry sent nothing for " +
                       FormatDurationMs(static_cast<uint64_t>(options_.silence.count())));
  }

  Result<std::string> InspectAt(const std::string& source, const std::vector<std::string>& more,
                                size_t max_bytes) {
    CellCommand command{.argv = Skopeo("inspect", ""), .silence = options_.silence};
    command.argv.push_back("--raw");
    command.argv.insert(command.argv.end(), more.begin(), more.end());
    command.argv.push_back(source);
    line_.Show("asking " + options_.reference.registry);
    std::string out;
    const Result<CommandEnd> end = cell_->Execute(command, [&](const std::string& bytes) {
      if (bytes.size() > max_bytes - out.size()) {
        return ResourceExhausted("the registry sent more than " + std::to_string(max_bytes) +
                                 " bytes of a manifest or configuration");
      }
      out += bytes;
      return OkStatus();
    });
    if (!end.ok()) return Explained(end.status());
    if (!end->ok()) return Fail(*end);
    return out;
  }

  // Of the manifest that was found.
  Result<std::string> Inspect(const std::vector<std::string>& more, size_t max_bytes) {
    return InspectAt(options_.reference.AtDigest(digest_), more, max_bytes);
  }

  static Status CheckDigest(const std::string& bytes, const std::string& digest) {
    const std::string found = "sha256:" + Sha256Hex(bytes);
    if (found == digest) return OkStatus();
    return Status(Code::kDataLoss,
                  "the registry sent " + found + " where " + digest + " was asked for");
  }

  // The manifest of the platform, and its digest.
  Status FindManifest() {
    const RegistryReference& reference = options_.reference;
    ODY_ASSIGN_OR_RETURN(manifest_text_,
                         InspectAt(reference.Source(), {}, image::kMaxManifestBytes));
    if (!reference.digest.empty()) {
      ODY_RETURN_IF_ERROR(CheckDigest(manifest_text_, reference.digest));
    }
    digest_ = "sha256:" + Sha256Hex(manifest_text_);
    if (image::IsIndex(manifest_text_)) {
      ODY_ASSIGN_OR_RETURN(const image::Blob chosen,
                           image::ChooseManifest(manifest_text_, options_.platform));
      digest_ = chosen.digest;
      ODY_ASSIGN_OR_RETURN(manifest_text_, Inspect({}, image::kMaxManifestBytes));
      ODY_RETURN_IF_ERROR(CheckDigest(manifest_text_, digest_));
    }
    ODY_ASSIGN_OR_RETURN(manifest_, image::ReadManifest(manifest_text_));
    return OkStatus();
  }

  // False: the registry has none. Why it has none is no failure: the store's refusal is.
  Result<bool> AddSignatures(supervisor::v1::ImportImageStart* start) {
    const std::string source = options_.reference.AtTag(SignatureTag(digest_));
    const Result<std::string> manifest = InspectAt(source, {}, image::kMaxManifestBytes);
    advice_.clear();
    if (manifest.status().code() == Code::kCancelled) return manifest.status();
    if (!manifest.ok()) return false;
    ODY_ASSIGN_OR_RETURN(const std::vector<StoredSignature> signatures, ReadSignatures(*manifest));
    if (signatures.empty()) return false;
    ODY_RETURN_IF_ERROR(Copy(options_.reference.AtDigest("sha256:" + Sha256Hex(*manifest)),
                             "signatures", kMaxSignatures * kMaxSignaturePayload));
    for (const StoredSignature& stored : signatures) {
      ODY_ASSIGN_OR_RETURN(
          const std::string payload,
          cell_->ReadSmall(Place("signatures", stored.payload.digest), kMaxSignaturePayload));
      supervisor::v1::ImageSignature* const out = start->add_signatures();
      out->set_payload(payload);
      out->set_signature(stored.signature);
    }
    return true;
  }

  Status Download() {
    uint64_t all = manifest_.config.size;
    for (const image::Layer& layer : manifest_.layers) all += layer.blob.size;
    return Copy(options_.reference.AtDigest(digest_), "image", all);
  }

  // `all`: bytes of the blobs.
  Status Copy(const std::string& source, const std::string& directory, uint64_t all) {
    CellCommand command{.argv = Skopeo("copy", "src-"), .silence = options_.silence};
    command.argv.insert(command.argv.end(),
                        {"--quiet", source, "dir:" + cell_->Work() + "/" + directory});
    command.watched = cell_->Work() + "/" + directory;
    command.most_watched = all + manifest_text_.size() + kMoreBytes;
    command.progress = [&](uint64_t bytes) {
      line_.Show("from " + options_.reference.registry + "  " + FormatSize(std::min(bytes, all)) +
                 " of " + FormatSize(all));
    };
    const Result<CommandEnd> end =
        cell_->Execute(command, [](const std::string&) { return OkStatus(); });
    if (!end.ok()) return Explained(end.status());
    return end->ok() ? OkStatus() : Fail(*end);
  }

  const Client& client_;
  const int signals_;
  const PullOptions& options_;
  StatusLine line_;
  std::unique_ptr<ImageCell> cell_;
  std::string manifest_text_, digest_;
  image::Manifest manifest_;
  std::string advice_;
};

}  // namespace

std::vector<OptionSpec> PullOptionSpecs() {
  return {
      {.name = "as",
       .kind = ValueKind::kText,
       .value_name = "NAME",
       .help = "call it so here (default: REF, without its digest)"},
      {.name = "registry",
       .kind = ValueKind::kText,
       .value_name = "HOST[:PORT]",
       .help = "of this registry; REF begins with none then"},
      PlatformOption(),
      {.name = "authfile",
       .kind = ValueKind::kFile,
       .value_name = "FILE",
       .help = "credentials of the registry: an auth.json of docker, podman or skopeo login"},
      {.name = "plain-http", .help = "the registry has no TLS, or a certificate of anyone's"},
      {.name = "ca-file",
       .kind = ValueKind::kFile,
       .value_name = "FILE",
       .help = "trust certificates of this authority (PEM) too"},
      {.name = "reach",
       .kind = ValueKind::kText,
       .value_name = "HOST:PORT",
       .help = "where the registry leads to, such as its server of tokens or of layers",
       .repeatable = true},
      {.name = "timeout",
       .kind = ValueKind::kDuration,
       .value_name = "TIME",
       .help = "give up when the registry sent nothing for so long (default 60s)"},
  };
}

Result<PullOptions> ReadPullOptions(const ParsedOptions& options) {
  PullOptions out;
  out.owner = getuid();
  for (const auto& [word, name] : {std::pair<const char*, std::string>{"REF", options.Word(0)},
                                   {"--as", options.Text("as")}}) {
    const Status status = CheckImageName(name);
    if (!status.ok()) return InvalidArgument(std::string(word) + " " + status.message());
  }
  if (options.Has("plain-http")) out.transport = Transport::kPlainHttp;
  ODY_ASSIGN_OR_RETURN(
      out.reference,
      ParseRegistryReference(options.Word(0), options.Text("registry"), out.transport));
  out.name = options.Has("as") ? options.Text("as") : out.reference.name;
  ODY_ASSIGN_OR_RETURN(out.platform, ReadPlatform(options));
  for (const std::string& place : options.All("reach")) {
    Result<egress::Destination> to = egress::ParseReachable(place);
    if (!to.ok()) {
      return Status(to.status().code(), "--reach " + place + ": " + to.status().message());
    }
    out.reach.push_back(*std::move(to));
  }
  if (options.Has("authfile")) {
    ODY_ASSIGN_OR_RETURN(const std::string text,
                         ReadOptionFile(options, "authfile", kMaxCredentials));
    Result<std::string> found = CredentialsOf(text, out.reference.registry);
    if (!found.ok()) {
      return Status(found.status().code(),
                    "--authfile " + options.Text("authfile") + ": " + found.status().message());
    }
    out.credentials = *std::move(found);
  }
  if (options.Has("ca-file")) {
    if (out.transport == Transport::kPlainHttp) {
      return InvalidArgument("--ca-file: with --plain-http no certificate is looked at");
    }
    ODY_ASSIGN_OR_RETURN(out.authority, ReadOptionFile(options, "ca-file", kMaxAuthority));
  }
  out.silence = std::chrono::milliseconds(options.Has("timeout") ? options.DurationMs("timeout")
                                                                 : kSilenceMs);
  return out;
}

Result<PullOptions> PullOptionsFor(const std::string& reference, uid_t owner) {
  PullOptions out;
  out.owner = owner;
  ODY_ASSIGN_OR_RETURN(out.reference, ParseRegistryReference(reference, "", Transport::kTls));
  out.name = out.reference.name;
  out.platform = OwnPlatform();
  out.silence = std::chrono::milliseconds(kSilenceMs);
  return out;
}

Result<NewImage> FetchImage(const Console& console, const Client& client, int signals,
                            const PullOptions& options, std::string* advice) {
  Pull pull(console, client, signals, options);
  Result<NewImage> stored = pull.Run();
  *advice = pull.advice();
  return stored;
}

int PullImage(const Invocation& call, const PullOptions& options) {
  const Console& console = *call.console;
  const UniqueFd signals = MakeSignalFd(ImageSignals());
  const std::string what = "pull " + call.options.Word(0);
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect(what, client.status()));
  std::string advice;
  const Result<NewImage> stored = FetchImage(console, *client, signals.get(), options, &advice);
  if (!stored.ok()) {
    const std::string name = call.options.Has("as") ? "--as" : "REF";
    Failure failure = client->Explain(what, InWords(stored.status(), {{"name", name}}));
    if (!advice.empty()) failure.next = advice;
    return FailImage(console, std::move(failure), stored.status());
  }
  PrintStored(console, {*stored});
  return kExitOk;
}

}  // namespace odyssey::ctl
