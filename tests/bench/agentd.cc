#include "tests/bench/agentd.h"

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <utility>

#include "tests/bench/daemon.h"

namespace odyssey::bench {
namespace {

namespace v1 = ::odyssey::agent::v1;

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return OkStatus();
  return {static_cast<Code>(status.error_code()), status.error_message()};
}

// `tool` and what stands in the manifest's sandbox beside its mode.
std::string ManifestOf(const std::string& id, const std::string& tool, const std::string& sandbox) {
  return "{id: '" + id +
         "', version: '1.0.0', manifest_version: 'odyssey.bundle/v1',\n"
         " readme: 'README.md', agent_spec: 'agent.yaml',\n"
         " executor: {type: 'prebuilt', id: 'react'}, tools: [{name: '" +
         tool + "'}],\n sandbox: {mode: 'read_only', system_tools_mode: 'standard'" + sandbox +
         "}}\n";
}

std::string ScenarioOf(const std::string& call) {
  return "scenario: 1\nsteps:\n  - call: {" + call + ", as: r}\n" +
         "  - if: {value: \"${r.success}\", equals: \"false\"}\n" +
         "    then:\n      - fail: \"${r.error}\"\n";
}

constexpr char kAgent[] =
    "id: bench\nprompt: Run true.\nmodel: {provider: script, name: scenario.yaml}\n"
    "tools: {allow: ['*']}\n";

}  // namespace

Result<std::unique_ptr<Agentd>> Agentd::Start(const Supervisor& supervisor,
                                              const std::vector<std::string>& options) {
  std::unique_ptr<Agentd> out(new Agentd(supervisor));
  std::vector<std::string> argv = {"odyssey-agentd",
                                   "--state",
                                   out->state(),
                                   "--socket",
                                   out->socket(),
                                   "--supervisor-socket",
                                   supervisor.socket(),
                                   "--workers",
                                   "16",
                                   "--policy",
                                   supervisor.directory() + "/policy.d"};
  argv.insert(argv.end(), options.begin(), options.end());
  ODY_ASSIGN_OR_RETURN(Child process,
                       LaunchDaemon(std::move(argv), supervisor.directory() + "/agentd.log"));
  out->process_.emplace(std::move(process));
  return out;
}

Agentd::~Agentd() {
  if (!process_) return;
  kill(process_->pid(), SIGTERM);
  const Status status = process_->Wait();
  if (!status.ok()) fprintf(stderr, "odyssey-agentd: %s\n", status.ToString().c_str());
}

Result<std::string> Agentd::Write(const std::string& name, const std::string& manifest,
                                  const std::string& scenario) const {
  const std::string directory = directory_ + "/" + name;
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/odyssey.bundle.json5") << manifest;
  std::ofstream(directory + "/agent.yaml") << kAgent;
  std::ofstream(directory + "/scenario.yaml") << scenario;
  std::ofstream readme(directory + "/README.md");
  readme << "# bench\n";
  if (!readme) return Internal("write " + directory);
  return directory;
}

Result<std::string> Agentd::MakeBundle() const {
  return Write("bundle", ManifestOf("bench", "Bash", ""),
               ScenarioOf("tool: Bash, args: {command: 'true'}"));
}

Result<std::string> Agentd::MakeTalkingBundle() const {
  return Write("talk-bundle", ManifestOf("talk", "Bash", ""), "scenario: 1\nsteps:\n  - say: hi\n");
}

Result<std::string> Agentd::MakeGrepBundle(const std::string& directory, const std::string& pattern,
                                           unsigned cores) const {
  const std::string number = std::to_string(cores);
  const std::string sandbox = ", resources: {cpu: " + number +
                              "}, permissions: {filesystem: {mounts: {read: ['" + directory +
                              "']}}}";
  return Write("grep-bundle-" + number, ManifestOf("bench", "Grep", sandbox),
               ScenarioOf("tool: Grep, args: {path: mount/read/abs" + directory + ", pattern: '" +
                          pattern + "'}"));
}

Result<std::unique_ptr<SessionClient>> SessionClient::Create(const Agentd& agentd,
                                                             const std::string& bundle) {
  std::unique_ptr<SessionClient> out(new SessionClient());
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of our own
  out->stub_ = v1::SessionService::NewStub(grpc::CreateCustomChannel(
      "unix:" + agentd.socket(), grpc::InsecureChannelCredentials(), arguments));
  v1::CreateSessionRequest request;
  request.set_bundle(bundle);
  v1::CreateSessionResponse response;
  grpc::ClientContext context;
  ODY_RETURN_IF_ERROR(FromGrpc(out->stub_->CreateSession(&context, request, &response)));
  out->id_ = response.session().id();
  v1::SubscribeRequest subscribe;
  subscribe.set_session_id(out->id_);
  subscribe.set_follow(true);
  out->events_ = out->stub_->Subscribe(&out->context_, subscribe);
  return out;
}

SessionClient::~SessionClient() {
  context_.TryCancel();
  if (events_) (void)events_->Finish();
  v1::DeleteSessionRequest request;
  request.set_session_id(id_);
  v1::DeleteSessionResponse response;
  grpc::ClientContext context;
  if (stub_) (void)stub_->DeleteSession(&context, request, &response);
}

Status SessionClient::Submit() {
  v1::SubmitTurnRequest request;
  request.set_session_id(id_);
  request.set_prompt("go");
  v1::SubmitTurnResponse response;
  grpc::ClientContext context;
  return FromGrpc(stub_->SubmitTurn(&context, request, &response));
}

Status SessionClient::RunTurn() { return RunTurnForItsCall().status(); }

Result<double> SessionClient::RunTurnForItsCall() {
  using Clock = std::chrono::steady_clock;
  ODY_RETURN_IF_ERROR(Submit());
  Clock::time_point begin;
  std::chrono::duration<double, std::micro> call{0};
  for (v1::Event event; events_->Read(&event);) {
    if (event.has_tool_call_started()) begin = Clock::now();
    if (event.has_tool_call_finished()) call = Clock::now() - begin;
    if (event.has_turn_completed()) return call.count();
    if (event.has_turn_failed()) return Internal("turn: " + event.turn_failed().message());
  }
  return Unavailable("the subscription ended");
}

Result<uint64_t> SessionClient::Replay() {
  v1::SubscribeRequest request;
  request.set_session_id(id_);
  grpc::ClientContext context;
  const auto events = stub_->Subscribe(&context, request);
  uint64_t count = 0;
  for (v1::Event event; events->Read(&event);) ++count;
  ODY_RETURN_IF_ERROR(FromGrpc(events->Finish()));
  return count;
}

}  // namespace odyssey::bench
