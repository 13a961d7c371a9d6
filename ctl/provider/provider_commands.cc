// provider create|update|list|rm.
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "common/os/file.h"
#include "common/os/message_socket.h"
#include "common/os/unix_connect.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/file/named_place.h"
#include "ctl/provider/provider_request.h"
#include "policy/dialect/ceiling_directory.h"

namespace odyssey::ctl {
namespace {

using provider_wire::Provider;

constexpr char kNext[] =
    "odyssey-egress keeps providers; `odyssey-ctl up` or odyssey-egress.service starts it.";

std::string SocketPath(const Locations& locations) {
  const std::string& supervisor = locations.supervisor_socket;
  return supervisor.substr(0, supervisor.rfind('/')) + provider_wire::kSocket;
}

// What it answers, without its end.
Result<std::vector<Provider>> Ask(const Locations& locations, const std::string& request) {
  std::vector<Provider> out;
  ODY_ASSIGN_OR_RETURN(const UniqueFd socket, ConnectUnix(SocketPath(locations), SOCK_SEQPACKET));
  ODY_RETURN_IF_ERROR(SendMessage(socket.get(), request));
  for (;;) {
    ODY_ASSIGN_OR_RETURN(const Message message, ReceiveMessage(socket.get()));
    provider_wire::Done done;
    if (provider_wire::Decode(message.bytes, &done).ok()) {
      ODY_RETURN_IF_ERROR(done.status);
      return out;
    }
    ODY_RETURN_IF_ERROR(provider_wire::Decode(message.bytes, &out.emplace_back()));
  }
}

int Fail(const Invocation& call, const char* what, const Status& status) {
  const bool unreachable = status.detail().path == SocketPath(call.locations);
  return call.console->Fail({what, status.message(), unreachable ? kNext : ""});
}

Result<uint32_t> OwnerOf(const Invocation& call) {
  if (!call.options.Has("user")) return provider_wire::kPeer;
  ODY_ASSIGN_OR_RETURN(const auto owner, dialect::FindOwner("--user", call.options.Text("user")));
  return owner.uid;
}

Result<std::string> ReadSecretFile(const std::string& file) {
  constexpr size_t kMax = provider_wire::kMaxSecretBytes + 2;  // and the end of the line
  if (file == "-") return ReadToTheEnd(STDIN_FILENO, "the secret on stdin", kMax);
  NamedPlaces places;
  return places.Read(file, Links::kFileItself, kMax);
}

Status Put(const Invocation& call, bool create) {
  ODY_ASSIGN_OR_RETURN(provider_wire::Put put, MakePut(call.options, create, ReadSecretFile));
  ODY_ASSIGN_OR_RETURN(put.owner, OwnerOf(call));
  const std::string request = provider_wire::Encode(put);
  if (request.size() > kMaxMessageBytes) {
    return InvalidArgument(
        "more than 160 KiB of secrets at once; give some of them by `provider "
        "update`");
  }
  return Ask(call.locations, request).status();
}

int Create(const Invocation& call) {
  const Status status = Put(call, true);
  if (status.ok()) return kExitOk;
  return Fail(call, "create a provider", status);
}

int Update(const Invocation& call) {
  const Status status = Put(call, false);
  if (status.ok()) return kExitOk;
  return Fail(call, "update a provider", status);
}

Status Remove(const Invocation& call) {
  ODY_ASSIGN_OR_RETURN(const uint32_t owner, OwnerOf(call));
  const provider_wire::Remove remove{.owner = owner, .name = call.options.Word(0)};
  return Ask(call.locations, provider_wire::Encode(remove)).status();
}

int RemoveCommand(const Invocation& call) {
  const Status status = Remove(call);
  if (status.ok()) return kExitOk;
  return Fail(call, "remove a provider", status);
}

Result<std::vector<Provider>> List(const Invocation& call) {
  ODY_ASSIGN_OR_RETURN(const uint32_t owner, OwnerOf(call));
  return Ask(call.locations, provider_wire::Encode(provider_wire::List{owner}));
}

int ListCommand(const Invocation& call) {
  const Result<std::vector<Provider>> providers = List(call);
  if (!providers.ok()) {
    return Fail(call, "list providers", providers.status());
  }
  if (call.console->json) {
    call.console->PrintJson(ProvidersJson(*providers));
  } else {
    call.console->Print(FormatProviders(*providers));
  }
  return kExitOk;
}

const OptionSpec kUser = {.name = "user",
                          .kind = ValueKind::kText,
                          .value_name = "USER",
                          .help = "a name or a uid (default: your own); another's is for root"};

std::vector<OptionSpec> PutOptions() {
  return {
      {.name = "type",
       .kind = ValueKind::kText,
       .value_name = "TYPE",
       .help = "generic (default), anthropic, aws, github, gitlab, google, huggingface, mistral, "
               "nvidia, openai, openrouter: where its secrets may go, unless --endpoint says"},
      {.name = "credential",
       .kind = ValueKind::kText,
       .value_name = "KEY",
       .help = "the variable in which a sandbox finds the placeholder of the secret",
       .repeatable = true},
      {.name = "from-file",
       .kind = ValueKind::kFile,
       .value_name = "FILE",
       .help = "has the secret of the --credential in the same place; - reads stdin",
       .repeatable = true},
      {.name = "endpoint",
       .kind = ValueKind::kText,
       .value_name = "HOST:PORT",
       .help = "a server that may see the secrets; HOST may be a pattern. Of a generic provider "
               "without any, policies say it by credential_binding",
       .repeatable = true},
      kUser};
}

}  // namespace

std::vector<Command> ProviderCommands() {
  const PositionalSpec name = {.name = "NAME"};
  return {
      {.name = "provider create",
       .summary = "keep secrets that sandboxes use and never have",
       .positionals = {name},
       .options = PutOptions(),
       .notes =
           "A secret is one line, is read from a file or stdin, and is never on a command line.\n"
           "    odyssey-ctl provider create gh --type github --credential GH_TOKEN "
           "--from-file -",
       .run = Create},
      {.name = "provider update",
       .summary = "rotate a provider's secrets, or change its endpoints",
       .positionals = {name},
       .options = PutOptions(),
       .notes = "What is not named stays. Sandboxes that run use the new secret at once, by the "
                "placeholder that they have.",
       .run = Update},
      {.name = "provider list",
       .summary = "list providers, without their secrets",
       .options = {kUser},
       .run = ListCommand},
      {.name = "provider rm",
       .summary = "remove a provider with its secrets",
       .positionals = {name},
       .options = {kUser},
       .run = RemoveCommand},
  };
}

}  // namespace odyssey::ctl
