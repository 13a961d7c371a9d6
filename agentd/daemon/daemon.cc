#include "agentd/daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "agentd/daemon/approval_answerer.h"
#include "agentd/daemon/approval_command.h"
#include "agentd/daemon/approval_expiry.h"
#include "agentd/daemon/approval_webhook.h"
#include "agentd/daemon/log.h"
#include "agentd/daemon/metrics_listener.h"
#include "agentd/daemon/periodic.h"
#include "agentd/daemon/provider_access.h"
#include "agentd/daemon/settings.h"
#include "agentd/metrics/metrics.h"
#include "agentd/model/http_stream.h"
#include "agentd/sandbox/supervisor_client.h"
#include "agentd/service/approval_service.h"
#include "agentd/service/bundle_service.h"
#include "agentd/service/cell_service.h"
#include "agentd/service/changes_service.h"
#include "agentd/service/convert.h"
#include "agentd/service/mcp_server_service.h"
#include "agentd/service/metrics_collector.h"
#include "agentd/service/session_service.h"
#include "agentd/service/token_service.h"
#include "agentd/service/version.h"
#include "agentd/session/sessions.h"
#include "agentd/token/token_store.h"
#include "common/message/enum_name.h"
#include "common/os/file.h"
#include "common/os/notify_socket.h"
#include "common/os/unique_fd.h"
#include "common/os/unix_listener.h"
#include "common/rpc/health.h"
#include "common/rpc/metrics_service.h"
#include "common/rpc/peer_groups.h"
#include "common/rpc/peer_listener.h"

namespace odyssey::daemon {
namespace {

constexpr int kMaxMessageBytes = 17 * 1024 * 1024;
constexpr size_t kGroupBytes = 64 * 1024;  // of a group's line
constexpr gid_t kOverflowGid = 65534;
constexpr int kDrainTickMs = 100;
// For calls that are under way when the daemon ends: their answers are ready then.
constexpr std::chrono::seconds kGoodbye{1};
constexpr std::chrono::seconds kLongestIdlePeriod{30};
constexpr std::chrono::seconds kLongestRetentionPeriod{600};
constexpr std::chrono::seconds kTokenPeriod{1};

// Signals become readable before any thread exists, so that every thread has them blocked.
Result<UniqueFd> OpenSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return ErrnoStatus(errno, "block signals");
  signal(SIGPIPE, SIG_IGN);
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "create signalfd");
  return fd;
}

int WaitForSignal(int signals) {
  signalfd_siginfo info{};
  while (read(signals, &info, sizeof(info)) < 0 && errno == EINTR) {
  }
  return static_cast<int>(info.ssi_signo);
}

// True: one that stops us came, and was taken.
bool StopCame(int signals, int timeout_ms) {
  pollfd polled = {signals, POLLIN, 0};
  return poll(&polled, 1, timeout_ms) > 0 && WaitForSignal(signals) != SIGHUP;
}

// By name or gid. The overflow gid is refused: it is what the kernel says of a peer in another user
// namespace, whose gids are unmapped here.
Result<std::optional<gid_t>> FindGroup(const std::string& option, const std::string& name) {
  using Group = std::optional<gid_t>;
  if (name.empty()) return Group();
  gid_t gid = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, gid);
  if (error != std::errc() || stop != end) {
    std::vector<char> buffer(kGroupBytes);
    group entry{};
    group* found = nullptr;
    const int failed = getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (failed != 0) return ErrnoStatus(failed, option + " " + name);
    if (found == nullptr) {
      return NotFound(option + " " + name + ": no such group; give a name or a gid");
    }
    gid = found->gr_gid;
  }
  if (gid == kOverflowGid) {
    return InvalidArgument(option + " " + name + ": gid " + std::to_string(gid) +
                           " stands for every gid that is unmapped here; use another group");
  }
  return Group(gid);
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

void LogTurnEnd(const std::string& session_id, const session::TurnRecord& turn) {
  const bool completed = turn.status == session::TurnStatus::kCompleted;
  Log(completed ? Priority::kInfo : Priority::kWarning,
      "session=" + session_id + " turn=" + turn.id + " ended" +
          (completed ? "" : " error=\"" + turn.error + "\""));
}

void LogAnswer(const std::string& session_id, const agent::v1::PermissionRequested& request,
               const approval::Answer& answer, const Status& recorded) {
  std::string grants;
  if (request.has_grants() && answer.decision != approval::Decision::kDeny) {
    const bool of_session = answer.grant_scope == agent::v1::GRANT_SCOPE_SESSION;
    grants = of_session ? " grants=session" : " grants=once";
  }
  Log(recorded.ok() ? Priority::kInfo : Priority::kError,
      "session=" + session_id + " turn=" + request.turn_id() + " approval=" + request.request_id() +
          " tool=" + request.tool_name() + " digest=" + request.digest() +
          " decision=" + std::string(approval::DecisionName(answer.decision)) + grants +
          " by=" + answer.by + " uid=" + std::to_string(answer.by_uid) +
          (answer.token_id.empty() ? "" : " token=" + answer.token_id) +
          (recorded.ok() ? "" : " not recorded: error=\"" + recorded.message() + "\""));
}

void LogAdmin(std::string_view act, const std::string& session_id, uint32_t uid) {
  Log(Priority::kInfo,
      "admin=" + std::string(act) + " session=" + session_id + " uid=" + std::to_string(uid));
}

void LogNoAnswer(const std::string& request_id, const std::string& why) {
  Log(Priority::kWarning, "approval=" + request_id + " error=\"" + why + "\"");
}

// How often to look for what has been there for so long; 0: never has.
std::chrono::seconds PeriodOf(std::chrono::seconds age, std::chrono::seconds longest) {
  return age.count() == 0 ? longest : std::clamp(age / 10, std::chrono::seconds(1), longest);
}

// Whether a user of a token would be let in, if it connected itself.
class MayConnect final {
 public:
  void Set(const rpc::PeerListener::Allowed& allowed) {
    const std::lock_guard lock(mutex_);
    allowed_ = allowed;
  }
  bool Has(uid_t uid) const {
    const std::lock_guard lock(mutex_);
    return allowed_.uids.count(uid) != 0 ||
           std::any_of(allowed_.groups.begin(), allowed_.groups.end(),
                       [uid](gid_t group) { return rpc::UserHasGroup(uid, group); });
  }

 private:
  mutable std::mutex mutex_;
  rpc::PeerListener::Allowed allowed_;  // guarded by mutex_
};

// Everything that serves, in the order of construction; destroyed in reverse.
class Server final {
 public:
  Server(const Options& options, ModelAccess models, std::optional<gid_t> admin_group)
      : channel_(sandbox::OpenSupervisorChannel(options.supervisor_socket)),
        sandbox_(sandbox::NewSupervisorClient(channel_, options.supervisor_socket)),
        store_(options.state + "/sessions"),
        metrics_(service::kVersion),
        journals_(options.state + "/journals",
                  {&clock_, &ids_, [this](const auto& event) { metrics_.OnEvent(event); }}),
        bundles_(options.state + "/bundles", &ids_),
        tokens_(options.state + "/tokens.json", &clock_, &ids_),
        providers_(std::move(models.access), std::move(models.prices)),
        options_(options),
        admin_group_(admin_group) {}

  Status Load() {
    std::vector<std::string> warnings;
    ODY_RETURN_IF_ERROR(store_.Load(&ids_, &warnings));
    ODY_RETURN_IF_ERROR(tokens_.Load());
    sessions_ = std::make_unique<session::Sessions>(
        MakeRuntime(),
        session::Sessions::Options{options_.workers,
                                   options_.queue,
                                   options_.queue_total,
                                   {options_.journal_max_bytes, options_.journal_keep}});
    for (std::string& warning : sessions_->Recover()) warnings.push_back(std::move(warning));
    for (const std::string& warning : warnings) Log(Priority::kWarning, warning);
    return OkStatus();
  }

  Status Start() {
    UniqueFd socket(options_.listener);
    if (!socket) {
      ODY_ASSIGN_OR_RETURN(socket, ListenUnix(options_.socket, 0666));
    }
    fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
    ODY_ASSIGN_OR_RETURN(rpc::PeerListener::Allowed allowed, AllowedBy(options_));
    may_connect_.Set(allowed);
    session_service_ = std::make_unique<service::SessionService>(sessions_.get(), channel_);
    changes_service_ = std::make_unique<service::ChangesService>(sessions_.get(), channel_);
    cell_service_ = std::make_unique<service::CellService>(sessions_.get(), channel_);
    approval_service_ = std::make_unique<service::ApprovalService>(&approvals_, sessions_.get());
    bundle_service_ = std::make_unique<service::BundleService>(&bundles_, sessions_.get());
    token_service_ = std::make_unique<service::TokenService>(&sessions_->runtime());
    mcp_server_service_ = std::make_unique<service::McpServerService>(sessions_.get());
    collector_ = std::make_unique<service::MetricsCollector>(&metrics_, sessions_.get(), &bundles_,
                                                             channel_);
    metrics_service_ = std::make_unique<rpc::MetricsService>(
        [this](const auto& call) { return collector_->CollectFor(call); });
    if (!options_.metrics_listen.empty()) {
      ODY_ASSIGN_OR_RETURN(metrics_listener_, ListenForMetrics(options_.metrics_listen, [this] {
                             return collector_->Collect();
                           }));
    }
    expiry_ = std::make_unique<ApprovalExpiry>(&approvals_, &clock_);
    if (options_.idle_cell.count() > 0) {
      idle_cells_ = std::make_unique<Periodic>(PeriodOf(options_.idle_cell, kLongestIdlePeriod),
                                               [this] { EndIdleCells(); });
    }
    retention_ = std::make_unique<Periodic>(
        PeriodOf(options_.journal_keep, kLongestRetentionPeriod), [this] { ApplyRetention(); });
    token_expiry_ = std::make_unique<Periodic>(kTokenPeriod, [this] { tokens_.EndExpired(); });
    ODY_RETURN_IF_ERROR(StartAnswerer());
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.SetMaxSendMessageSize(kMaxMessageBytes);
    builder.RegisterService(session_service_.get());
    builder.RegisterService(approval_service_.get());
    builder.RegisterService(changes_service_.get());
    builder.RegisterService(cell_service_.get());
    builder.RegisterService(bundle_service_.get());
    builder.RegisterService(token_service_.get());
    builder.RegisterService(mcp_server_service_.get());
    builder.RegisterService(metrics_service_.get());
    server_ = rpc::StartWithHealth(
        &builder,
        {agent::v1::SessionService::service_full_name(),
         agent::v1::ApprovalService::service_full_name(),
         supervisor::v1::Changes::service_full_name(), agent::v1::CellService::service_full_name(),
         agent::v1::BundleService::service_full_name(),
         agent::v1::TokenService::service_full_name(),
         agent::v1::McpServerService::service_full_name(), ops::v1::Metrics::service_full_name()});
    if (!server_) return Internal("start the gRPC server");
    listener_ =
        std::make_unique<rpc::PeerListener>(std::move(socket), server_.get(), std::move(allowed));
    return OkStatus();
  }

  // Returns once the lock that every call takes is free: a server whose lock is held for ever is
  // not alive.
  void WaitUntilFree() const { (void)sessions_->IsQuiet(); }

  // Of what a reload applies: who may connect, keys, addresses and prices. Nothing has changed if
  // it fails.
  Status Reload(const Options& anew, const ProviderEnvironment& environment) {
    ODY_ASSIGN_OR_RETURN(rpc::PeerListener::Allowed allowed, AllowedBy(anew));
    ODY_ASSIGN_OR_RETURN(ModelAccess models, ReadModelAccess(anew, environment));
    may_connect_.Set(allowed);
    listener_->Allow(std::move(allowed));
    providers_.Replace(std::move(models.access), std::move(models.prices));
    const std::string left = NeedRestart(options_, anew);
    Log(Priority::kInfo, "reloaded" + (left.empty() ? "" : " need_restart=\"" + left + "\""));
    return OkStatus();
  }

  // Serves on, but accepts no work, until what runs has ended, the time is up, or a signal comes.
  void Drain(int signals) {
    using Clock = std::chrono::steady_clock;
    sessions_->BeginDrain();
    Log(Priority::kInfo, "drains seconds=" + std::to_string(options_.drain.count()));
    const Clock::time_point until = Clock::now() + options_.drain;
    while (!sessions_->IsQuiet() && Clock::now() < until && !StopCame(signals, kDrainTickMs)) {
    }
  }

  // Turns before the server: what waits for them is answered. What answers approvals before them:
  // its end is no answer.
  void Stop() {
    if (options_.listener < 0) unlink(options_.socket.c_str());
    answerer_.reset();
    retention_.reset();
    metrics_listener_.reset();
    sessions_->Stop();
    listener_.reset();
    server_->Shutdown(std::chrono::system_clock::now() + kGoodbye);
  }

 private:
  // Ourselves, root, and those of the options; the admin group is that of the start.
  Result<rpc::PeerListener::Allowed> AllowedBy(const Options& options) const {
    ODY_ASSIGN_OR_RETURN(const std::optional<gid_t> group,
                         FindGroup("--allow-group", options.allow_group));
    rpc::PeerListener::Allowed out = {.uids = options.allowed_uids};
    out.uids.insert({0, getuid()});
    if (options_.http_uid) out.uids.insert(*options_.http_uid);
    if (group) out.groups.insert(*group);
    if (admin_group_) out.groups.insert(*admin_group_);
    return out;
  }

  // The operator's command or webhook, if there is one.
  Status StartAnswerer() {
    std::unique_ptr<AnswerTransport> transport;
    bool ask = false;
    if (!options_.approval_command.empty()) {
      ODY_RETURN_IF_ERROR(CheckApprovalCommand(options_.approval_command));
      transport = NewApprovalCommand(options_.approval_command);
      ask = options_.approval_command_fallback == "ask";
    } else if (!options_.approval_webhook.empty()) {
      WebhookOptions webhook = {options_.approval_webhook, {}, options_.approval_webhook_ca};
      const std::string& token = options_.approval_webhook_token_file;
      if (!token.empty()) {
        ODY_ASSIGN_OR_RETURN(webhook.token, ReadWebhookToken(token));
      }
      ODY_RETURN_IF_ERROR(CheckApprovalWebhook(webhook));
      transport = NewApprovalWebhook(std::move(webhook));
      ask = options_.approval_webhook_fallback == "ask";
    } else {
      return OkStatus();
    }
    answerer_ = std::make_unique<ApprovalAnswerer>(&approvals_, std::move(transport),
                                                   ApprovalAnswerer::Options{.fallback_ask = ask},
                                                   LogNoAnswer);
    return OkStatus();
  }

  void CountTurnEnd(const session::TurnRecord& turn) {
    metrics_.OnTurnEnd(turn.id, message::EnumName(service::ToProto(turn).status()),
                       std::chrono::milliseconds(turn.used.wall_clock_ms));
  }

  void EndIdleCells() { sessions_->EndIdleCells(options_.idle_cell); }
  void ApplyRetention() {
    for (const std::string& warning : sessions_->ApplyRetention()) Log(Priority::kWarning, warning);
  }

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
            .admin_group = admin_group_,
            .tokens = &tokens_,
            .http_uid = options_.http_uid,
            .may_connect = [this](uid_t uid) { return may_connect_.Has(uid); },
            .on_answer = LogAnswer,
            .on_admin = LogAdmin,
            .on_turn_end =
                [this](const auto& session_id, const auto& turn) {
                  LogTurnEnd(session_id, turn);
                  CountTurnEnd(turn);
                }};
  }

  agent::SystemClock clock_;
  agent::RandomIds ids_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<sandbox::Sandbox> sandbox_;
  session::SessionStore store_;
  agent::Metrics metrics_;
  event::JournalStore journals_;
  bundle::BundleStore bundles_;
  approval::Registry approvals_;
  token::TokenStore tokens_;
  MayConnect may_connect_;
  model::Providers providers_;
  const tools::ToolRegistry tools_;
  const Options options_;
  const std::optional<gid_t> admin_group_;
  std::unique_ptr<session::Sessions> sessions_;
  std::unique_ptr<service::SessionService> session_service_;
  std::unique_ptr<service::ApprovalService> approval_service_;
  std::unique_ptr<service::ChangesService> changes_service_;
  std::unique_ptr<service::CellService> cell_service_;
  std::unique_ptr<service::BundleService> bundle_service_;
  std::unique_ptr<service::TokenService> token_service_;
  std::unique_ptr<service::McpServerService> mcp_server_service_;
  std::unique_ptr<service::MetricsCollector> collector_;
  std::unique_ptr<rpc::MetricsService> metrics_service_;
  std::unique_ptr<MetricsListener> metrics_listener_;
  std::unique_ptr<ApprovalExpiry> expiry_;
  std::unique_ptr<Periodic> idle_cells_, retention_, token_expiry_;
  std::unique_ptr<ApprovalAnswerer> answerer_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<rpc::PeerListener> listener_;
};

}  // namespace

Status Serve(const Options& options) {
  ODY_ASSIGN_OR_RETURN(const UniqueFd signals, OpenSignals());
  const NotifySocket manager = NotifySocket::FromEnvironment();
  const ProviderEnvironment environment = TakeProviderEnvironment();
  ODY_ASSIGN_OR_RETURN(ModelAccess models, ReadModelAccess(options, environment));
  ODY_ASSIGN_OR_RETURN(const std::optional<gid_t> admin_group,
                       FindGroup("--admin-group", options.admin_group));
  ODY_ASSIGN_OR_RETURN(const UniqueFd lock, OpenState(options.state));
  Server server(options, std::move(models), admin_group);
  ODY_RETURN_IF_ERROR(server.Load());
  ODY_RETURN_IF_ERROR(server.Start());
  Log(Priority::kInfo, "serves socket=" + options.socket + " state=" + options.state);
  ODY_RETURN_IF_ERROR(WriteAll(STDOUT_FILENO, "ready\n"));
  manager.Ready();
  std::optional<Periodic> alive;
  if (manager.alive_period().count() > 0) {
    alive.emplace(std::chrono::ceil<std::chrono::seconds>(manager.alive_period()), [&] {
      server.WaitUntilFree();
      manager.Alive();
    });
  }
  while (WaitForSignal(signals.get()) == SIGHUP) {
    manager.Reloading();
    const Result<Options> anew = ReadOptionsAnew(options);
    const Status status = anew.ok() ? server.Reload(*anew, environment) : anew.status();
    if (!status.ok()) Log(Priority::kError, "not reloaded: " + status.message());
    manager.Ready();
  }
  manager.Stopping();
  if (options.drain.count() > 0) server.Drain(signals.get());
  Log(Priority::kInfo, "stops");
  server.Stop();
  return OkStatus();
}

}  // namespace odyssey::daemon
