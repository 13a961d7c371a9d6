// token create|list|rm, web.
#include <string>
#include <utility>
#include <vector>

#include "common/message/message_json.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"
#include "ctl/client/client.h"
#include "ctl/client/http_address.h"
#include "odyssey/agent/v1/token.stub.h"

namespace odyssey::ctl {
namespace {

using agent::v1::Token;
using agent::v1::TokenServiceStub;

constexpr uint64_t kMsPerSecond = 1000;
constexpr uint64_t kMaxLifetimeS = uint64_t{366} * 24 * 3600;

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

int Web(const Invocation& call) {
  const Console& console = *call.console;
  Result<std::string> address = call.options.Text("address");
  if (address->empty()) {
    address = FindHttpAddress(call.locations);
    const Result<std::string> of_units = HttpAddressOfUnits(call.locations);
    if (address.status().code() == Code::kNotFound && of_units.ok()) address = of_units;
  }
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
