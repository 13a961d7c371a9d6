#include "tests/bench/agentd.h"

#include <signal.h>

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

constexpr char kManifest[] =
    "{id: 'bench', version: '1.0.0', manifest_version: 'odyssey.bundle/v1', readme: 'README.md',\n"
    " agent_spec: 'agent.yaml', executor: {type: 'prebuilt', id: 'react'},\n"
    " tools: [{name: 'Bash'}], sandbox: {mode: 'read_only', system_tools_mode: 'standard'}}\n";
constexpr char kAgent[] =
    "id: bench\nprompt: Run true.\nmodel: {provider: script, name: scenario.yaml}\n"
    "tools: {allow: ['*']}\n";
constexpr char kScenario[] =
    "scenario: 1\nsteps:\n  - call: {tool: Bash, args: {command: 'true'}, as: r}\n";

}  // namespace

Result<std::unique_ptr<Agentd>> Agentd::Start(const Supervisor& supervisor) {
  std::unique_ptr<Agentd> out(new Agentd(supervisor.directory()));
  ODY_ASSIGN_OR_RETURN(
      Child process,
      LaunchDaemon({"odyssey-agentd", "--state", out->state(), "--socket", out->socket(),
                    "--supervisor-socket", supervisor.socket(), "--workers", "16", "--policy",
                    supervisor.directory() + "/policy.d"},
                   supervisor.directory() + "/agentd.log"));
  out->process_.emplace(std::move(process));
  return out;
}

Agentd::~Agentd() {
  if (!process_) return;
  kill(process_->pid(), SIGTERM);
  const Status status = process_->Wait();
  if (!status.ok()) fprintf(stderr, "odyssey-agentd: %s\n", status.ToString().c_str());
}

Result<std::string> Agentd::MakeBundle() const {
  const std::string directory = directory_ + "/bundle";
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/odyssey.bundle.json5") << kManifest;
  std::ofstream(directory + "/agent.yaml") << kAgent;
  std::ofstream(directory + "/scenario.yaml") << kScenario;
  std::ofstream readme(directory + "/README.md");
  readme << "# bench\n";
  if (!readme) return Internal("write " + directory);
  return directory;
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

Status SessionClient::RunTurn() {
  v1::SubmitTurnRequest request;
  request.set_session_id(id_);
  request.set_prompt("go");
  v1::SubmitTurnResponse response;
  grpc::ClientContext context;
  ODY_RETURN_IF_ERROR(FromGrpc(stub_->SubmitTurn(&context, request, &response)));
  for (v1::Event event; events_->Read(&event);) {
    if (event.has_turn_completed()) return OkStatus();
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
