#include "ctl/tui/tui_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "ctl/approval/approval_call.h"
#include "ctl/base/signal_fd.h"
#include "ctl/bundle/bundle_archive.h"
#include "ctl/bundle/bundle_upload.h"
#include "ctl/bundle/named_bundle.h"
#include "ctl/exec/exec_pump.h"
#include "ctl/policy/policy_file.h"
#include "ctl/session/session_calls.h"
#include "odyssey/agent/v1/approval.stub.h"
#include "odyssey/agent/v1/bundle.stub.h"
#include "odyssey/agent/v1/session.stub.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {

using agent::v1::ApprovalServiceStub;
using agent::v1::BundleServiceStub;
using agent::v1::SessionServiceStub;
using supervisor::v1::SupervisorStub;

namespace {

constexpr std::chrono::milliseconds kTick{1000};
constexpr size_t kEventsAtOnce = 2000;  // between two looks at the keys
constexpr uint32_t kSessions = 200;
constexpr char kCellLimits[] = "limits of the cell: ";

bool IsReadable(int fd) {
  pollfd polled = {fd, POLLIN, 0};
  return poll(&polled, 1, 0) > 0 && polled.revents != 0;
}

bool IsLost(const Status& status) {
  return status.code() == Code::kUnavailable || status.code() == Code::kDeadlineExceeded;
}

}  // namespace

TuiLoop::TuiLoop(const Console& console, const Locations& locations, TuiOptions options,
                 int signal_fd, TerminalScreen* screen)
    : console_(console),
      locations_(locations),
      options_(std::move(options)),
      signal_fd_(signal_fd),
      screen_(*screen),
      files_(FindOwnFiles()),
      calls_(locations) {
  int ends[2];
  ODY_CHECK(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  warnings_ = UniqueFd(ends[0]);
  warnings_end_ = UniqueFd(ends[1]);
  console_.err_fd = warnings_end_.get();
  console_.color_err = false;
  state_.themes = ThemeNames();
  state_.theme = std::string(ThemeOf(ReadTheme(files_)).name);
  state_.typed.SetHistory(ReadHistory(files_));
  state_.bundle = options_.bundle;
  state_.cwd = options_.cwd;
}

uint64_t TuiLoop::NowMs() const {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
          .count());
}

void TuiLoop::Run() {
  Start();
  while (!over_) {
    if (std::exchange(changed_, false)) Show();
    Wait();
    TakeSignals();
    TakeKeys();
    TakeEvents();
    calls_.Deliver();
    TellWarnings();
    if (Clock::now() >= next_tick_) Tick();
  }
}

void TuiLoop::Start() {
  Apply(screen_.FitToTerminal());
  if (!state_.bundle.empty()) Do(DescribeBundle{state_.bundle});
  if (!options_.session_id.empty()) Do(JoinSession{options_.session_id});
  Tick();
}

int TuiLoop::TimeoutMs() const {
  const auto until_tick =
      std::chrono::ceil<std::chrono::milliseconds>(next_tick_ - Clock::now()).count();
  int64_t least = std::max<int64_t>(until_tick, 0);
  if (const int calls = calls_.TimeoutMs(); calls >= 0) least = std::min<int64_t>(least, calls);
  const uint64_t now = NowMs();
  const Question* const question = ShownQuestion(state_);
  if (question != nullptr && question->changes_at_ms(now) > now) {
    least = std::min<int64_t>(least, static_cast<int64_t>(question->changes_at_ms(now) - now));
  }
  return static_cast<int>(least);
}

void TuiLoop::Wait() {
  std::vector<pollfd> polled = {{STDIN_FILENO, POLLIN, 0},
                                {signal_fd_, POLLIN, 0},
                                {feed_ != nullptr ? feed_->fd() : -1, POLLIN, 0}};
  calls_.AppendPolled(&polled);
  const Question* const before = ShownQuestion(state_);
  const bool could = before != nullptr && before->IsRead(NowMs());
  if (poll(polled.data(), polled.size(), TimeoutMs()) < 0 && errno != EINTR) over_ = true;
  if ((polled[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) over_ = true;
  const Question* const after = ShownQuestion(state_);
  if (after != nullptr && after->IsRead(NowMs()) != could) Apply(ClockTick{});
}

void TuiLoop::TakeSignals() {
  while (const int signal = TakeSignal(signal_fd_)) {
    if (signal != SIGWINCH) {
      over_ = true;
    } else {
      Apply(screen_.FitToTerminal());
      screen_.Forget();
    }
  }
}

void TuiLoop::TakeKeys() {
  while (!over_) {
    const std::optional<Key> key = screen_.ReadKey();
    if (!key) return;
    Apply(*key);
  }
}

void TuiLoop::TakeEvents() {
  for (size_t i = 0; i < kEventsAtOnce && feed_ != nullptr && IsReadable(feed_->fd()); ++i) {
    const EventFeed::Item item = feed_->Take();
    if (item.event) {
      last_sequence_ = item.event->sequence();
      Apply(Connection{true});
      Apply(*item.event);
    }
    if (!item.notice.empty()) Apply(Connection{!item.lost});
    if (item.ended) {
      feed_.reset();
      feed_ended_ = true;
    }
  }
}

void TuiLoop::Tick() {
  next_tick_ = Clock::now() + kTick;
  if (!state_.connected) Probe();
  if (feed_ended_) Resume();
  if (!state_.connected) return;
  if (!watching_) WatchApprovals();
  const bool shows_all = state_.view == View::kDashboard;
  if (shows_all || state_.view == View::kApprovals || !state_.requests.empty()) ListApprovals();
  if (shows_all) ListCells();
}

void TuiLoop::Apply(const TuiEvent& event) {
  changed_ = true;
  for (const Effect& effect : Update(&state_, event, NowMs())) {
    std::visit([this](const auto& what) { Do(what); }, effect);
  }
}

void TuiLoop::Show() { screen_.Show(Draw(state_), ThemeOf(state_.theme), options_.colors); }

void TuiLoop::Fail(const Failure& failure) {
  Apply(Told{failure.what + (failure.why.empty() ? "" : ": " + failure.why), Tint::kBad});
  if (!failure.next.empty()) Apply(Told{"  " + failure.next, Tint::kDim});
}

void TuiLoop::TellWarnings() {
  std::string text(4096, '\0');
  const ssize_t n = read(warnings_.get(), text.data(), text.size());
  if (n <= 0) return;
  text.resize(static_cast<size_t>(n));
  Apply(Told{text, Tint::kWarn});
}

std::optional<Client> TuiLoop::Agentd(const std::string& doing) {
  Result<Client> client = calls_.Reach(Daemon::kAgentd);
  if (client.ok()) return *std::move(client);
  Fail(ExplainConnect(doing, client.status()));
  Apply(Connection{false});
  return std::nullopt;
}

// Sessions.

void TuiLoop::Follow(const std::string& session_id, uint64_t after) {
  last_sequence_ = after;
  feed_ended_ = false;
  feed_ = std::make_unique<EventFeed>(locations_, session_id, after, /*follow=*/true);
}

void TuiLoop::Do(const CreateSessionOf& what) {
  Apply(Told{"making a session of " + what.bundle, Tint::kDim});
  Show();
  const std::optional<Client> client = Agentd("create a session");
  if (!client) return Apply(SessionNotOpened{});
  const Made<agent::v1::Session> made =
      TryCreateSession(console_, *client, SessionServiceStub(client->channel()),
                       {.bundle = what.bundle,
                        .cwd = what.cwd,
                        .agent_id = what.agent_id,
                        .allow_danger = options_.allow_danger});
  TellWarnings();
  if (const auto* failure = std::get_if<Failure>(&made)) return Apply(SessionNotOpened{*failure});
  const auto& session = std::get<agent::v1::Session>(made);
  Follow(session.id(), 0);
  Apply(SessionOpened{session});
}

void TuiLoop::Do(const JoinSession& what) {
  const std::optional<Client> client = Agentd("join the session");
  if (!client) return;
  agent::v1::GetSessionRequest request;
  request.set_session_id(what.id);
  calls_.AddUnary<agent::v1::GetSessionRequest, agent::v1::GetSessionResponse>(
      SessionServiceStub(client->channel()).StartGetSession({kQuickCallMs}, request),
      [this, client](const Status& status, const agent::v1::GetSessionResponse& response) {
        if (!status.ok()) return Fail(client->Explain("join the session", status));
        Follow(response.session().id(), 0);
        Apply(SessionOpened{response.session()});
      });
}

void TuiLoop::Resume() {
  if (!state_.session) {
    feed_ended_ = false;
    return;
  }
  const Result<Client> client = calls_.Reach(Daemon::kAgentd);
  if (!client.ok()) return Apply(Connection{false});
  const std::string id = state_.session->id();
  agent::v1::GetSessionRequest request;
  request.set_session_id(id);
  calls_.AddUnary<agent::v1::GetSessionRequest, agent::v1::GetSessionResponse>(
      SessionServiceStub(client->channel()).StartGetSession({kQuickCallMs}, request),
      [this, id](const Status& status, const agent::v1::GetSessionResponse&) {
        const bool is_shown = state_.session && state_.session->id() == id;
        if (!is_shown || !feed_ended_) return;
        if (status.ok()) return Follow(id, last_sequence_);
        if (IsLost(status)) return Apply(Connection{false});
        feed_ended_ = false;
        Apply(SessionGone{});
      });
}

void TuiLoop::Do(const SubmitPrompt& what) {
  const std::optional<Client> client = Agentd("submit the turn");
  if (!client) return;
  const Made<agent::v1::SubmitTurnResponse> made = TrySubmitTurn(
      *client, SessionServiceStub(client->channel()), what.session_id, what.prompt, {});
  if (const auto* failure = std::get_if<Failure>(&made)) Fail(*failure);
}

void TuiLoop::Do(const CancelRunning& what) {
  const std::optional<Client> client = Agentd("cancel the turn");
  if (!client) return;
  agent::v1::CancelTurnRequest request;
  request.set_session_id(what.session_id);
  request.set_turn_id(what.turn_id);
  calls_.AddUnary<agent::v1::CancelTurnRequest, agent::v1::CancelTurnResponse>(
      SessionServiceStub(client->channel()).StartCancelTurn({kCellCallMs}, request),
      [this, client](const Status& status, const agent::v1::CancelTurnResponse&) {
        if (!status.ok()) Fail(client->Explain("cancel the turn", status));
      });
}

// The operator's commands. What they print comes with the session's events.

void TuiLoop::Do(const RunInCell& what) {
  const std::optional<Client> client = Agentd("run the command");
  if (!client) return Apply(CommandEnded{});
  supervisor::v1::ExecRequest request;
  request.mutable_start()->set_cell_id(what.session_id);
  for (const std::string& word : {std::string("sh"), std::string("-lc"), what.command}) {
    request.mutable_start()->add_argv(word);
  }
  ExecStream stream = SessionServiceStub(client->channel()).SessionExec({});
  stream.call()->Send(request);
  stops_ = 0;
  command_started_ = false;
  command_ = calls_.Add<supervisor::v1::ExecRequest, supervisor::v1::ExecResponse>(
      std::move(stream),
      [this](const supervisor::v1::ExecResponse& response) {
        command_started_ = command_started_ || response.has_started();
      },
      [this, client](const Status& status) {
        command_ = nullptr;
        const bool stopped = status.code() == Code::kCancelled && stops_ > 0;
        if (status.ok() || stopped) return Apply(CommandEnded{});
        const Failure failure = client->Explain("run the command", status);
        Apply(CommandEnded{failure.what + ": " + failure.why});
      });
}

void TuiLoop::Do(const StopCommand&) {
  if (command_ == nullptr) return;
  // One that waits, or does not end by the signal, is cancelled.
  if (stops_++ > 0 || !command_started_) return command_->Cancel();
  supervisor::v1::ExecRequest request;
  request.set_signal(SIGINT);
  command_->Send(request);
}

// Bundles.

void TuiLoop::Do(const InstallBundle& what) {
  const std::string doing = "install " + what.path;
  Show();
  const std::optional<Client> client = Agentd(doing);
  if (!client) return;
  const auto install = [&]() -> Result<agent::v1::Bundle> {
    if (IsArchiveName(what.path)) return UploadArchive(client->channel(), what.path, {});
    ODY_ASSIGN_OR_RETURN(const std::string directory, BundleDirectory(what.path));
    return UploadBundle(client->channel(), directory, {});
  };
  const Result<agent::v1::Bundle> bundle = install();
  if (!bundle.ok()) return Fail(client->Explain(doing, bundle.status()));
  Apply(BundleInstalled{*bundle});
}

void TuiLoop::Do(const DescribeBundle& what) {
  const Result<NamedBundle> named = LookAtName(what.reference);
  // A directory's agents are known when it is installed.
  if (!named.ok() || !named->directory.empty()) return;
  const std::optional<Client> client = Agentd("describe the bundle");
  if (!client) return;
  agent::v1::InspectBundleRequest request;
  request.set_reference(named->reference);
  calls_.AddUnary<agent::v1::InspectBundleRequest, agent::v1::InspectBundleResponse>(
      BundleServiceStub(client->channel()).StartInspectBundle({kQuickCallMs}, request),
      [this, client, reference = what.reference](const Status& status,
                                                 const agent::v1::InspectBundleResponse& response) {
        if (!status.ok()) return Fail(client->Explain("bundle " + reference, status));
        Apply(BundleDescribed{reference, response.bundle()});
      });
}

// Approvals.

void TuiLoop::Do(const SendAnswerTo& what) {
  const std::string id = what.request.request_id();
  const std::optional<Client> client = Agentd("answer the approval");
  if (!client) return Apply(Answer{id, /*failed=*/true, ""});
  calls_.AddUnary<agent::v1::ResolveApprovalRequest, agent::v1::ResolveApprovalResponse>(
      ApprovalServiceStub(client->channel())
          .StartResolveApproval({kQuickCallMs}, AnswerRequest(what.request, what.answer)),
      [this, client, id](const Status& status, const agent::v1::ResolveApprovalResponse& response) {
        if (!status.ok()) {
          const Failure failure = client->Explain("answer the approval", status);
          return Apply(Answer{id, /*failed=*/true, failure.what + ": " + failure.why});
        }
        Apply(Answer{id, false,
                     response.resolved() ? "" : "it was answered already, or its turn is over"});
      });
}

void TuiLoop::WatchApprovals() {
  const Result<Client> client = calls_.Reach(Daemon::kAgentd);
  if (!client.ok()) return Apply(Connection{false});
  watching_ = true;
  calls_.Add<agent::v1::WatchApprovalsRequest, agent::v1::Approval>(
      ApprovalServiceStub(client->channel()).WatchApprovals({}, {}),
      [this](const agent::v1::Approval&) { ListApprovals(); },
      [this](const Status& status) {
        watching_ = false;
        // One that ends in good order: agentd is stopping.
        if (status.ok() || IsLost(status)) Apply(Connection{false});
      });
}

void TuiLoop::ListApprovals() {
  approvals_due_ = listing_approvals_;
  if (listing_approvals_) return;
  const Result<Client> client = calls_.Reach(Daemon::kAgentd);
  if (!client.ok()) return Apply(Connection{false});
  listing_approvals_ = true;
  calls_.AddUnary<agent::v1::ListApprovalsRequest, agent::v1::ListApprovalsResponse>(
      ApprovalServiceStub(client->channel()).StartListApprovals({kQuickCallMs}, {}),
      [this](const Status& status, const agent::v1::ListApprovalsResponse& response) {
        listing_approvals_ = false;
        if (status.ok()) Apply(ApprovalsListed{response});
        if (std::exchange(approvals_due_, false)) ListApprovals();
      });
}

void TuiLoop::Probe() {
  if (probing_) return;
  const Result<Client> client = calls_.Reach(Daemon::kAgentd);
  if (!client.ok()) return;
  probing_ = true;
  calls_.AddUnary<agent::v1::GetInfoRequest, agent::v1::GetInfoResponse>(
      SessionServiceStub(client->channel()).StartGetInfo({kQuickCallMs}, {}),
      [this](const Status& status, const agent::v1::GetInfoResponse&) {
        probing_ = false;
        if (!status.ok()) return;
        Apply(Connection{true});
        next_tick_ = Clock::now();
      });
}

// Lists.

void TuiLoop::Do(const LoadView& what) {
  if (what.view == View::kApprovals || what.view == View::kDashboard) ListApprovals();
  if (what.view == View::kSessions || what.view == View::kDashboard) ListSessions();
  if (what.view == View::kBundles) ListBundles();
  if (what.view == View::kDashboard) ListCells();
}

void TuiLoop::ListSessions() {
  const std::optional<Client> client = Agentd("list the sessions");
  if (!client) return;
  agent::v1::ListSessionsRequest request;
  request.set_page_size(kSessions);
  calls_.AddUnary<agent::v1::ListSessionsRequest, agent::v1::ListSessionsResponse>(
      SessionServiceStub(client->channel()).StartListSessions({kQuickCallMs}, request),
      [this, client](const Status& status, const agent::v1::ListSessionsResponse& response) {
        if (!status.ok()) return Fail(client->Explain("list the sessions", status));
        Apply(SessionsListed{response});
      });
}

void TuiLoop::ListBundles() {
  const std::optional<Client> client = Agentd("list the bundles");
  if (!client) return;
  calls_.AddUnary<agent::v1::ListBundlesRequest, agent::v1::ListBundlesResponse>(
      BundleServiceStub(client->channel()).StartListBundles({kQuickCallMs}, {}),
      [this, client](const Status& status, const agent::v1::ListBundlesResponse& response) {
        if (!status.ok()) return Fail(client->Explain("list the bundles", status));
        Apply(BundlesListed{response});
      });
}

void TuiLoop::ListCells() {
  if (sampling_) return;
  const Result<Client> client = calls_.Reach(Daemon::kSupervisor);
  if (!client.ok()) {
    return Apply(CellsListed{{}, ExplainConnect("cells", client.status()).why});
  }
  sampling_ = true;
  calls_.AddUnary<supervisor::v1::ListCellsRequest, supervisor::v1::ListCellsResponse>(
      SupervisorStub(client->channel()).StartListCells({kQuickCallMs}, {}),
      [this, client = *client](const Status& status,
                               const supervisor::v1::ListCellsResponse& response) {
        sampling_ = false;
        if (!status.ok()) return Apply(CellsListed{{}, client.Explain("cells", status).why});
        Apply(CellsListed{{response, Clock::now()}, ""});
        DescribeCells(response);
      });
}

void TuiLoop::DescribeCells(const supervisor::v1::ListCellsResponse& cells) {
  for (const supervisor::v1::CellInfo& cell : cells.cells()) {
    const std::string id = cell.cell_id();
    if (state_.dashboard.limits.count(id) > 0) continue;
    const Result<Client> client = calls_.Reach(Daemon::kSupervisor);
    if (!client.ok()) return;
    Apply(CellDescribed{id, ""});
    supervisor::v1::DescribeCellRequest request;
    request.set_cell_id(id);
    calls_.AddUnary<supervisor::v1::DescribeCellRequest, supervisor::v1::DescribeCellResponse>(
        SupervisorStub(client->channel()).StartDescribeCell({kQuickCallMs}, request),
        [this, id](const Status& status, const supervisor::v1::DescribeCellResponse& response) {
          if (!status.ok()) return;
          for (const std::string& line : response.plan()) {
            if (line.rfind(kCellLimits, 0) != 0) continue;
            Apply(CellDescribed{id, line.substr(sizeof(kCellLimits) - 1)});
          }
        });
  }
}

// The rest.

void TuiLoop::Do(const SaveTheme& what) {
  const Status status = WriteTheme(files_, what.theme);
  if (!status.ok()) Fail({"theme " + what.theme, status.message(), ""});
}

void TuiLoop::Do(const SaveHistory&) {
  const Status status = WriteHistory(files_, state_.typed.history());
  if (!status.ok()) Fail({"keep what was typed", status.message(), ""});
}

void TuiLoop::Do(const Redraw&) { screen_.Forget(); }

void TuiLoop::Do(const Quit&) { over_ = true; }

}  // namespace odyssey::ctl
