// A server of the Model Context Protocol with what the protocol's conformance suite asks for by
// name, over the library and the HTTP server of odyssey-http. usage: mcp_fixture ANSWERS.json
// IDLE_SECONDS. Prints its address. Any token serves.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "http/front/server.h"
#include "http/head/access.h"
#include "mcp/protocol/request_state.h"
#include "mcp/server/call.h"

namespace odyssey {
namespace {

using mcp::Call;
using CallPtr = std::shared_ptr<Call>;

Json Text(const std::string& text) {
  return {{"content", Json::array({{{"type", "text"}, {"text", text}}})}};
}

RpcError Invalid(const std::string& why) { return {RpcCode::kInvalidParams, why, {}}; }

std::string WordOf(const Json& params, const char* key) {
  const auto value = params.find(key);
  return value != params.end() && value->is_string() ? value->get<std::string>() : "";
}

class FixtureScope final : public mcp::Scope {
 public:
  FixtureScope(const Json& answers, mcp::RequestStates* states)
      : answers_(answers), states_(states) {}

  void Open(std::function<void(const Status&)> on_open) override { on_open(OkStatus()); }
  void Close() override {}

  void Handle(CallPtr call) override {
    const std::string& method = call->request().method;
    if (method == "tools/list") return call->Answer({{"tools", Tools()}});
    if (method == "tools/call") return CallTool(call);
    if (method == "prompts/list") return call->Answer({{"prompts", Prompts()}});
    if (method == "prompts/get") return GetPrompt(call);
    if (method == "resources/list") return call->Answer({{"resources", Resources()}});
    if (method == "resources/templates/list") return call->Answer(Templates());
    if (method == "resources/read") return ReadResource(call);
    if (method == "completion/complete") {
      return call->Answer(
          {{"completion", {{"values", Json::array()}, {"total", 0}, {"hasMore", false}}}});
    }
    // Of the stateful era alone.
    const bool legacy = method == "logging/setLevel" || method == "resources/subscribe" ||
                        method == "resources/unsubscribe";
    if (legacy && !call->stateless()) return call->Answer(Json::object());
    call->Fail(RpcError{RpcCode::kMethodNotFound, method + ": there is no such method", {}});
  }

 private:
  Json Tools() const {
    Json out = Json::array();
    const auto add = [&](const std::string& name) {
      const Json schema = answers_["schemas"].value(name, Json{{"type", "object"}});
      out.push_back({{"name", name}, {"description", name}, {"inputSchema", schema}});
    };
    for (const char* kind : {"tools", "notifications", "asks", "inputs"}) {
      for (const auto& [name, value] : answers_[kind].items()) add(name);
    }
    add("test_missing_capability");
    return out;
  }

  Json Prompts() const {
    Json out = Json::array();
    for (const auto& [name, value] : answers_["prompts"].items())
      out.push_back({{"name", name}, {"description", name}});
    return out;
  }

  Json Resources() const {
    Json out = Json::array();
    for (const auto& [uri, value] : answers_["resources"].items()) {
      out.push_back({{"uri", uri}, {"name", uri}, {"mimeType", value["mimeType"]}});
    }
    return out;
  }

  static Json Templates() {
    return {{"resourceTemplates",
             Json::array({{{"uriTemplate", "test://template/{id}/data"}, {"name", "template"}}})}};
  }

  void ReadResource(const CallPtr& call) const {
    const std::string uri = WordOf(call->request().params, "uri");
    const auto found = answers_["resources"].find(uri);
    if (found == answers_["resources"].end()) {
      RpcError error = Invalid("resource not found");
      error.data = {{"uri", uri}};
      return call->Fail(error);
    }
    Json content = *found;
    content["uri"] = uri;
    call->Answer({{"contents", Json::array({content})}});
  }

  void GetPrompt(const CallPtr& call) {
    const Json& params = call->request().params;
    const std::string name = WordOf(params, "name");
    const auto found = answers_["prompts"].find(name);
    if (found == answers_["prompts"].end()) return call->Fail(Invalid("no such prompt"));
    if (answers_["inputs"].contains(name) && !HasInputs(call, name)) return;
    std::string text = found->dump();
    const Json arguments = params.value("arguments", Json::object());
    for (const auto& [key, value] : arguments.items()) {
      const std::string place = "{" + key + "}";
      const size_t at = text.find(place);
      if (at != std::string::npos) text.replace(at, place.size(), value.get<std::string>());
    }
    Json messages = Json::array();
    for (Json& each : Json::parse(text)) {
      messages.push_back({{"role", "user"}, {"content", std::move(each)}});
    }
    call->Answer({{"messages", std::move(messages)}});
  }

  void CallTool(const CallPtr& call) {
    const Json& params = call->request().params;
    const std::string name = WordOf(params, "name");
    if (name == "test_missing_capability") {
      if (!call->Has("sampling")) return call->Fail(mcp::MissingCapability(name, "sampling"));
      return call->Answer(Text("it has it"));
    }
    if (const auto found = answers_["tools"].find(name); found != answers_["tools"].end()) {
      return call->Answer(*found);
    }
    if (const auto found = answers_["notifications"].find(name);
        found != answers_["notifications"].end()) {
      return Notify(call, *found);
    }
    if (const auto found = answers_["asks"].find(name); found != answers_["asks"].end()) {
      return Ask(call, *found);
    }
    if (!answers_["inputs"].contains(name)) return call->Fail(Invalid("no such tool"));
    if (HasInputs(call, name)) call->Answer(Text("state-ok"));
  }

  static void Notify(const CallPtr& call, const Json& notifications) {
    const Json token = mcp::MetaOf(call->request().params).value("progressToken", Json());
    for (const Json& each : notifications) {
      Json params = each["params"];
      const bool progress = each["method"] == "notifications/progress";
      if (progress && token.is_null()) continue;
      if (progress) params["progressToken"] = token;
      call->Notify(each["method"].get<std::string>(), params);
    }
    call->Answer(Text("done"));
  }

  static void Ask(const CallPtr& call, const Json& ask) {
    const auto capability = ask["capability"].get<std::string>();
    if (!call->Has(capability)) {
      return call->Fail(mcp::MissingCapability(call->request().method, capability));
    }
    call->Ask(ask["method"].get<std::string>(), ask["params"], [call](const RpcResponse& answer) {
      call->Answer(Text("answered: " + answer.result.dump()));
    });
  }

  // Whether the client has answered all; else it is asked.
  bool HasInputs(const CallPtr& call, const std::string& name) {
    const Json& params = call->request().params;
    const Json& rounds = answers_["inputs"][name];
    const Json responses = params.value("inputResponses", Json::object());
    size_t round = 0;
    if (!responses.is_object()) return call->Fail(Invalid("inputResponses: an object")), false;
    if (params.contains("requestState")) {
      const Result<Json> state = states_->Open(name, WordOf(params, "requestState"), 0);
      if (!state.ok()) return call->Fail(state.status()), false;
      round = state->get<size_t>();
    }
    bool answered = true;
    for (const auto& [key, question] : rounds[round].items()) {
      const Json response = responses.value(key, Json());
      if (!response.is_null() && !response.is_object()) {
        return call->Fail(Invalid("inputResponses: " + key + ": an object")), false;
      }
      answered = answered && response.is_object();
    }
    if (answered && ++round == rounds.size()) return true;
    call->Answer(Requests(*call, name, round));
    return false;
  }

  Json Requests(const Call& call, const std::string& name, size_t round) {
    Json requests = Json::object();
    for (const auto& [key, kind] : answers_["inputs"][name][round].items()) {
      const Json& question = answers_["questions"][kind.get<std::string>()];
      if (!call.Has(question["capability"].get<std::string>())) continue;
      requests[key] = {{"method", question["method"]}, {"params", question["params"]}};
    }
    return mcp::InputRequired(std::move(requests), states_->Seal(name, round, 1));
  }

  const Json& answers_;
  mcp::RequestStates* const states_;
};

class FixtureService final : public mcp::Service {
 public:
  explicit FixtureService(Json answers) : answers_(std::move(answers)) {}

  const mcp::ServerFacts& facts() const override { return facts_; }
  std::shared_ptr<mcp::Scope> NewScope(const mcp::Caller& /*caller*/) override {
    return std::make_shared<FixtureScope>(answers_, &states_);
  }
  void WhenClosed(std::function<void()> closed) override { closed(); }

 private:
  const Json answers_;
  mcp::RequestStates states_{"key"};
  const mcp::ServerFacts facts_ = {"1",
                                   "",
                                   {{"tools", Json::object()},
                                    {"prompts", Json::object()},
                                    {"resources", {{"subscribe", true}}},
                                    {"completions", Json::object()},
                                    {"logging", Json::object()}}};
};

int Serve(const char* path, const char* idle_seconds) {
  std::ifstream file(path);
  Result<UniqueFd> listener = front::Listen({"127.0.0.1", 0, true});
  ODY_CHECK(file.good() && listener.ok());
  const Result<front::Address> address = front::AddressOf(listener->get());
  std::printf("%s\n", front::AddressText(*address).c_str());
  std::fflush(stdout);
  front::Server::Options options = {
      .agentd_socket = "/nonexistent",
      .names = head::LoopbackNames(),
      .mcp_bundle = "fixture",
      .mcp_service = std::make_unique<FixtureService>(Json::parse(file))};
  options.mcp_limits.idle = std::chrono::seconds(std::atoi(idle_seconds));
  front::Server(*std::move(listener), std::move(options)).Run();
  return 0;
}

}  // namespace
}  // namespace odyssey

int main(int argc, char** argv) { return argc == 3 ? odyssey::Serve(argv[1], argv[2]) : 2; }
