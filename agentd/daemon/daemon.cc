#include "agentd/daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "agentd/daemon/approval_command.h"
#include "agentd/daemon/approval_expiry.h"
#include "agentd/daemon/idle_cells.h"
#include "agentd/daemon/log.h"
#include "agentd/model/http_stream.h"
#include "agentd/provider/provider_variables.h"
#include "agentd/sandbox/supervisor_client.h"
#include "agentd/service/approval_service.h"
#include "agentd/service/bundle_service.h"
#include "agentd/service/changes_service.h"
#include "agentd/service/session_service.h"
#include "agentd/session/sessions.h"
#include "common/os/file.h"
#include "common/os/unique_fd.h"
#include "common/os/unix_listener.h"
#include "common/rpc/health.h"
#include "common/rpc/peer_listener.h"

namespace odyssey::daemon {
namespace {

constexpr int kMaxMessageBytes = 17 * 1024 * 1024;
constexpr size_t kMaxKeyBytes = 8 * 1024;
// For calls that are under way when the daemon ends: their answers are ready then.
constexpr std::chrono::seconds kGoodbye{1};

// Signals become readable before any thread exists, so that every thread has them blocked.
Result<UniqueFd> OpenSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return ErrnoStatus(errno, "block signals");
  signal(SIGPIPE, SIG_IGN);
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "create signalfd");
  return fd;
}

void WaitForSignal(int signals) {
  signalfd_siginfo info;
  while (read(signals, &info, sizeof(info)) < 0 && errno == EINTR) {
  }
}

// The directories, and the lock that a second daemon on the same state runs into.
Result<UniqueFd> OpenState(const std::string& state) {
  umask(077);
  for (const char* name : {"", "/sessions", "/journals", "/bundles", "/bundles/trees"}) {
    ODY_RETURN_IF_ERROR(MakeDirectories(state + name, 0700));
  }
  const std::string path = state + "/lock";
  UniqueFd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return ErrnoStatus(errno, "open " + path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "lock " + path);
    return AlreadyExists("another odyssey-agentd uses the state directory " + state);
  }
  return lock;
}

std::string FromEnvironment(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

std::string OptionOf(const std::map<std::string, std::string>& options, std::string_view provider) {
  const auto it = options.find(std::string(provider));
  return it == options.end() ? "" : it->second;
}

// The key leaves the environment: /proc/PID/environ of a later look does not matter, what is passed
// on does.
std::string TakeFromEnvironment(const std::string& name) {
  std::string value = FromEnvironment(name.c_str());
  unsetenv(name.c_str());
  return value;
}

Result<model::Secret> KeyOf(const provider::Provider& row, const Options& options) {
  std::string key;
  for (const std::string& name : provider::VariablesOf(row).keys) {
    std::string value = TakeFromEnvironment(name);
    if (key.empty()) key = std::move(value);
  }
  const std::string file = OptionOf(options.model_key_files, row.name);
  if (!file.empty()) {
    ODY_ASSIGN_OR_RETURN(key, ReadFile(file, kMaxKeyBytes));
  }
  key.erase(key.find_last_not_of(" \t\r\n") + 1);
  if (key.find_first_of("\r\n") != std::string::npos) {
    return InvalidArgument("key of model provider " + std::string(row.name) + " " + file +
                           ": holds more than a key");
  }
  return model::Secret(std::move(key));
}

Result<model::ProviderAccess> AccessOf(const provider::Provider& row, const Options& options) {
  model::ProviderAccess out;
  out.base_url = OptionOf(options.model_base_urls, row.name);
  for (const std::string& name : provider::VariablesOf(row).addresses) {
    if (out.base_url.empty()) out.base_url = FromEnvironment(name.c_str());
  }
  if (out.base_url.empty()) out.base_url = row.base_url;
  ODY_ASSIGN_OR_RETURN(out.key, KeyOf(row, options));
  if (out.base_url.empty()) return out;
  ODY_RETURN_IF_ERROR(model::CheckProviderUrl(out.base_url));
  while (out.base_url.back() == '/') out.base_url.pop_back();
  return out;
}

Result<model::AccessTable> AccessesOf(const Options& options) {
  model::AccessTable out;
  for (const provider::Provider& row : provider::kProviders) {
    if (row.protocol == provider::kScript) continue;
    ODY_ASSIGN_OR_RETURN(model::ProviderAccess access, AccessOf(row, options));
    out.emplace(row.name, std::move(access));
  }
  return out;
}

void LogTurnEnd(const std::string& session_id, const session::TurnRecord& turn) {
  const bool completed = turn.status == session::TurnStatus::kCompleted;
  Log(completed ? Priority::kInfo : Priority::kWarning,
      "session=" + session_id + " turn=" + turn.id + " ended" +
          (completed ? "" : " error=\"" + turn.error + "\""));
}

void LogAnswer(const std::string& session_id, const agent::v1::PermissionRequested& request,
               const approval::Answer& answer) {
  Log(Priority::kInfo, "session=" + session_id + " turn=" + request.turn_id() +
                           " approval=" + request.request_id() + " tool=" + request.tool_name() +
                           " digest=" + request.digest() +
                           " decision=" + std::string(approval::DecisionName(answer.decision)) +
                           " by=" + answer.by + " uid=" + std::to_string(answer.by_uid));
}

void LogNoAnswer(const std::string& request_id, const std::string& why) {
  Log(Priority::kWarning, "approval=" + request_id + " error=\"" + why + "\"");
}

// Everything that serves, in the order of construction; destroyed in reverse.
class Server final {
 public:
  Server(const Options& options, model::AccessTable access)
      : channel_(sandbox::OpenSupervisorChannel(options.supervisor_socket)),
        sandbox_(sandbox::NewSupervisorClient(channel_, options.supervisor_socket)),
        store_(options.state + "/sessions"),
        journals_(options.state + "/journals", {&clock_, &ids_}),
        bundles_(options.state + "/bundles", &ids_),
        providers_(std::move(access)),
        options_(options) {}

  Status Load() {
    std::vector<std::string> warnings;
    ODY_RETURN_IF_ERROR(store_.Load(&ids_, &warnings));
    sessions_ = std::make_unique<session::Sessions>(
        MakeRuntime(),
        session::Sessions::Options{options_.workers, options_.queue, options_.queue_total});
    for (std::string& warning : sessions_->Recover()) warnings.push_back(std::move(warning));
    for (const std::string& warning : warnings) Log(Priority::kWarning, warning);
    return OkStatus();
  }

  Status Start() {
    ODY_ASSIGN_OR_RETURN(UniqueFd socket, ListenUnix(options_.socket, 0666));
    session_service_ = std::make_unique<service::SessionService>(sessions_.get(), channel_);
    changes_service_ = std::make_unique<service::ChangesService>(sessions_.get(), channel_);
    approval_service_ = std::make_unique<service::ApprovalService>(&approvals_, sessions_.get());
    bundle_service_ = std::make_unique<service::BundleService>(&bundles_, sessions_.get());
    expiry_ = std::make_unique<ApprovalExpiry>(&approvals_, &clock_, options_.approval_timeout);
    idle_cells_ = std::make_unique<IdleCells>(sessions_.get(), options_.idle_cell);
    if (!options_.approval_command.empty()) {
      ODY_RETURN_IF_ERROR(CheckApprovalCommand(options_.approval_command));
      command_ = std::make_unique<ApprovalCommand>(
          &approvals_,
          ApprovalCommandOptions{options_.approval_command, options_.approval_fallback == "ask"},
          LogNoAnswer);
    }
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.SetMaxSendMessageSize(kMaxMessageBytes);
    builder.RegisterService(session_service_.get());
    builder.RegisterService(approval_service_.get());
    builder.RegisterService(changes_service_.get());
    builder.RegisterService(bundle_service_.get());
    server_ = rpc::StartWithHealth(&builder, {agent::v1::SessionService::service_full_name(),
                                              agent::v1::ApprovalService::service_full_name(),
                                              supervisor::v1::Changes::service_full_name(),
                                              agent::v1::BundleService::service_full_name()});
    if (!server_) return Internal("start the gRPC server");
    std::set<uid_t> allowed = options_.allowed_uids;
    allowed.insert({0, getuid()});
    listener_ = std::make_unique<rpc::PeerListener>(std::move(socket), server_.get(), allowed);
    return OkStatus();
  }

  // Turns before the server: what waits for them is answered. The approval command before them: its
  // death is no answer.
  void Stop() {
    unlink(options_.socket.c_str());
    command_.reset();
    sessions_->Stop();
    listener_.reset();
    server_->Shutdown(std::chrono::system_clock::now() + kGoodbye);
  }

 private:
  session::Runtime MakeRuntime() {
    return {.clock = &clock_,
            .ids = &ids_,
            .store = &store_,
            .journals = &journals_,
            .bundles = &bundles_,
            .approvals = &approvals_,
            .sandbox = sandbox_.get(),
            .models = &providers_,
            .tools = &tools_,
            .policy_directory = options_.policy_directory,
            .approval_timeout = options_.approval_timeout,
            .on_answer = LogAnswer,
            .on_turn_end = LogTurnEnd};
  }

  agent::SystemClock clock_;
  agent::RandomIds ids_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<sandbox::Sandbox> sandbox_;
  session::SessionStore store_;
  event::JournalStore journals_;
  bundle::BundleStore bundles_;
  approval::Registry approvals_;
  model::Providers providers_;
  const tools::ToolRegistry tools_;
  const Options options_;
  std::unique_ptr<session::Sessions> sessions_;
  std::unique_ptr<service::SessionService> session_service_;
  std::unique_ptr<service::ApprovalService> approval_service_;
  std::unique_ptr<service::ChangesService> changes_service_;
  std::unique_ptr<service::BundleService> bundle_service_;
  std::unique_ptr<ApprovalExpiry> expiry_;
  std::unique_ptr<IdleCells> idle_cells_;
  std::unique_ptr<ApprovalCommand> command_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<rpc::PeerListener> listener_;
};

}  // namespace

Status Serve(const Options& options) {
  ODY_ASSIGN_OR_RETURN(const UniqueFd signals, OpenSignals());
  ODY_ASSIGN_OR_RETURN(model::AccessTable access, AccessesOf(options));
  ODY_ASSIGN_OR_RETURN(const UniqueFd lock, OpenState(options.state));
  Server server(options, std::move(access));
  ODY_RETURN_IF_ERROR(server.Load());
  ODY_RETURN_IF_ERROR(server.Start());
  Log(Priority::kInfo, "serves socket=" + options.socket + " state=" + options.state);
  ODY_RETURN_IF_ERROR(WriteAll(STDOUT_FILENO, "ready\n"));
  WaitForSignal(signals.get());
  Log(Priority::kInfo, "stops");
  server.Stop();
  return OkStatus();
}

}  // namespace odyssey::daemon
