// token create|list|rm, web.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/message/message_json.h"
#include "common/os/unique_fd.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"
#include "ctl/client/client.h"
#include "odyssey/agent/v1/token.stub.h"

namespace odyssey::ctl {
namespace {

using agent::v1::Token;
using agent::v1::TokenServiceStub;

constexpr uint64_t kMsPerSecond = 1000;
constexpr uint64_t kMaxLifetimeS = uint64_t{366} * 24 * 3600;
constexpr size_t kMaxAddressBytes = 256;
constexpr char kAddressOfUnits[] = "127.0.0.1:8472";
constexpr char kRunOfUnits[] = "/run/odyssey";

int Create(const Invocation& call) {
  const Console& console = *call.console;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("make a token", client.status()));
  agent::v1::CreateTokenRequest request;
  request.set_name(call.options.Text("name"));
  if (call.options.Has("expires")) {
    request.set_lifetime_ms(*ParseAgeS(call.options.Text("expires")) * kMsPerSecond);
  }
  agent::v1::CreateTokenResponse response;
  const Status status =
      TokenServiceStub(client->channel()).CreateToken({kQuickCallMs}, request, &response);
  if (!status.ok()) return console.Fail(client->Explain("make a token", status));
  if (console.json) {
    console.PrintJson(message::ToJson(response));
    return kExitOk;
  }
  const Token& token = response.token();
  console.Warn("odyssey-ctl: " + Sanitize(token.id(), Lines::kOne) + " until " +
               Sanitize(token.expires_at(), Lines::kOne) +
               "; it is shown this once, and is all that is needed to act as uid " +
               std::to_string(token.owner_uid()));
  console.PrintLine(Sanitize(response.secret(), Lines::kOne));
  return kExitOk;
}

int List(const Invocation& call) {
  const Console& console = *call.console;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("list tokens", client.status()));
  agent::v1::ListTokensResponse response;
  const Status status =
      TokenServiceStub(client->channel()).ListTokens({kQuickCallMs}, {}, &response);
  if (!status.ok()) return console.Fail(client->Explain("list tokens", status));
  if (console.json) {
    Json list = Json::array();
    for (const Token& token : response.tokens()) list.push_back(message::ToJson(token));
    console.PrintJson({{"tokens", std::move(list)}});
    return kExitOk;
  }
  if (response.tokens().empty()) {
    console.PrintLine("no tokens");
    return kExitOk;
  }
  std::vector<std::vector<std::string>> rows;
  for (const Token& token : response.tokens()) {
    rows.push_back({Sanitize(token.id(), Lines::kOne), std::to_string(token.owner_uid()),
                    Sanitize(token.expires_at(), Lines::kOne),
                    Sanitize(token.name(), Lines::kOne)});
  }
  console.Print(FormatTable({"TOKEN", "UID", "EXPIRES", "NAME"}, rows));
  return kExitOk;
}

int Remove(const Invocation& call) {
  const Console& console = *call.console;
  const std::string what = "remove token " + call.options.Word(0);
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect(what, client.status()));
  agent::v1::RevokeTokenRequest request;
  request.set_token_id(call.options.Word(0));
  agent::v1::RevokeTokenResponse response;
  const Status status =
      TokenServiceStub(client->channel()).RevokeToken({kQuickCallMs}, request, &response);
  if (!status.ok()) return console.Fail(client->Explain(what, status));
  if (console.json) {
    console.PrintJson(message::ToJson(response));
  } else {
    console.PrintLine("removed " + Sanitize(response.token().id(), Lines::kOne));
  }
  return kExitOk;
}

// Its directory is odyssey-http's, which may put anything there: a regular file is read, no link is
// followed, and what is no address is no answer.
Result<std::string> ReadAddress(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return ErrnoStatus(errno, "open " + path);
  struct stat info {};
  char text[kMaxAddressBytes];
  const bool is_file = fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode);
  const ssize_t size = is_file ? read(file.get(), text, sizeof(text)) : -1;
  const std::string_view line(text, size > 0 ? static_cast<size_t>(size) : 0);
  const std::string_view address = line.substr(0, line.find('\n'));
  if (address.empty() || address.find_first_not_of("0123456789abcdef.:[]") != address.npos) {
    return InvalidArgument(path + ": no address and port; start odyssey-http anew");
  }
  return std::string(address);
}

// Where odyssey-http beside the daemons of these sockets serves. It writes the address when it
// starts; the units' one may start with the first connection. NOT_FOUND: it does not run.
Result<std::string> FindAddress(const Locations& locations) {
  const std::string run = std::filesystem::path(locations.agentd_socket).parent_path().string();
  Result<std::string> address = ReadAddress(run + "/http/address");
  if (address.ok()) return address;
  if (address.status().code() == Code::kNotFound && run == kRunOfUnits) {
    return std::string(kAddressOfUnits);
  }
  return address;
}

int Web(const Invocation& call) {
  const Console& console = *call.console;
  Result<std::string> address = call.options.Text("address");
  if (address->empty()) address = FindAddress(call.locations);
  if (!address.ok()) {
    return console.Fail({"open the way for a browser",
                         "odyssey-http does not serve: " + address.status().message(),
                         "Start it with: odyssey-ctl up --http-listen 127.0.0.1:8472"});
  }
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) {
    return console.Fail(ExplainConnect("open the way for a browser", client.status()));
  }
  agent::v1::CreateLinkResponse response;
  const Status status =
      TokenServiceStub(client->channel()).CreateLink({kQuickCallMs}, {}, &response);
  if (!status.ok()) return console.Fail(client->Explain("open the way for a browser", status));
  const std::string url = "http://" + *address + "/#link=" + response.secret();
  if (console.json) {
    console.PrintJson({{"url", url}, {"expires_at", response.expires_at()}});
    return kExitOk;
  }
  console.PrintLine(Sanitize(url, Lines::kOne));
  console.Warn("odyssey-ctl: it opens once, until " + Sanitize(response.expires_at(), Lines::kOne));
  return kExitOk;
}

}  // namespace

std::vector<Command> TokenCommands() {
  return {
      {.name = "token create",
       .summary = "make a token for the HTTP interface, and print it once",
       .options = {{.name = "name",
                    .kind = ValueKind::kText,
                    .value_name = "NAME",
                    .help = "what it is for, at most 64 bytes"},
                   {.name = "expires",
                    .kind = ValueKind::kAge,
                    .value_name = "AGE",
                    .help = "how long it is good for, such as 12h or 90d, at most 366d (30d)",
                    .min = 1,
                    .max = kMaxLifetimeS}},
       .notes = "A request with it is one of the user that has made it (docs/HTTP.md).",
       .run = Create},
      {.name = "token list", .summary = "list your tokens; root's are all", .run = List},
      {.name = "token rm",
       .summary = "end a token, and the streams that were opened with it",
       .positionals = {{.name = "TOKEN"}},
       .run = Remove},
      {.name = "web",
       .summary = "print a link that signs a browser in, once within 60 seconds",
       .options = {{.name = "address",
                    .kind = ValueKind::kText,
                    .value_name = "HOST:PORT",
                    .help = "where the browser reaches odyssey-http (where it serves here)"}},
       .run = Web},
  };
}

}  // namespace odyssey::ctl
