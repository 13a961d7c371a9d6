#include "ctl/tui/update.h"

#include <algorithm>
#include <utility>

#include "ctl/base/sanitize.h"
#include "ctl/bundle/bundle_archive.h"
#include "ctl/tui/key_update.h"
#include "ctl/tui/typed_command.h"
#include "ctl/tui/viewers.h"
#include "ctl/view/denial_line.h"

namespace odyssey::ctl {
namespace {

using agent::v1::Event;

constexpr size_t kDenials = 50;

// One kind of event each. What it does is said once, in the state.
class Updater final {
 public:
  Updater(TuiState* state, std::vector<Effect>* effects) : state_(*state), effects_(*effects) {}

  void operator()(const Key& key) { OnKey(&state_, key, &effects_); }

  void operator()(const Resized& size) {
    state_.rows = size.rows;
    state_.columns = size.columns;
  }

  void operator()(const ClockTick&) {}

  void operator()(const Told& told) { Tell(&state_, told.text, told.tint); }

  void operator()(const Connection& connection) {
    if (std::exchange(state_.connected, connection.up) == connection.up) return;
    if (connection.up) return Tell(&state_, "connected again", Tint::kDim);
    Tell(&state_, "connection to agentd lost; connecting again", Tint::kWarn);
  }

  void operator()(const Event& event);

  void operator()(const SessionOpened& opened) {
    const bool is_other = !state_.session || state_.session->id() != opened.session.id();
    state_.session = opened.session;
    state_.creating = false;
    if (state_.bundle.empty()) {
      state_.bundle = opened.session.bundle_ref();
      effects_.push_back(DescribeBundle{state_.bundle});
    }
    if (is_other) {
      state_.transcript = Transcript();
      state_.running_turn.clear();
      state_.used = {};
      state_.denials.clear();
      state_.asked.clear();
      Tell(&state_,
           opened.session.id() + " · " + opened.session.bundle_ref() +
               (opened.session.review() ? " · writes are reviewed" : ""),
           Tint::kDim);
    }
    state_.notice.clear();
    SendUnsent(&state_, &effects_);
  }

  void operator()(const SessionNotOpened& failed) {
    state_.creating = false;
    // What was typed for it is not lost.
    if (!state_.unsent.empty() && state_.typed.text().empty()) state_.typed.Set(state_.unsent);
    state_.unsent.clear();
    TellFailure(failed.failure);
  }

  void operator()(const SessionGone&) {
    Tell(&state_, "the session was removed", Tint::kWarn);
    state_.session.reset();
    state_.running_turn.clear();
    state_.asked.clear();
  }

  void operator()(const BundleInstalled& installed) {
    state_.bundle = NameOf(installed.bundle);
    state_.agent_id.clear();
    state_.described.reset();
    Tell(&state_, "installed " + state_.bundle + ": of the next session; /new makes it",
         Tint::kGood);
    effects_.push_back(DescribeBundle{state_.bundle});
  }

  void operator()(const BundleDescribed& described) {
    if (described.reference != state_.bundle) return;
    state_.described = described.bundle;
    for (const View view : {View::kAgents, View::kModels, View::kSkills}) {
      if (state_.view == view) ShowView(&state_, view, &effects_);
    }
  }

  void operator()(const BundlesListed& listed) {
    Replace(View::kBundles, BundleViewer(listed.bundles));
  }

  void operator()(const SessionsListed& listed) {
    Replace(View::kSessions, SessionViewer(listed.sessions));
    state_.dashboard.sessions.assign(listed.sessions.sessions().begin(),
                                     listed.sessions.sessions().end());
  }

  void operator()(const ApprovalsListed& listed);

  void operator()(const CellsListed& listed) {
    DashboardData& data = state_.dashboard;
    data.cells_failure = Sanitize(listed.failure, Lines::kOne);
    if (!listed.failure.empty()) {
      data.sampled = false;
      return;
    }
    data.before = data.sampled ? std::move(data.now) : listed.sample;
    data.now = listed.sample;
    data.sampled = true;
  }

  void operator()(const CellDescribed& described) {
    state_.dashboard.limits[described.cell_id] = Sanitize(described.limits, Lines::kOne);
  }

  void operator()(const Answer& answer) {
    if (!answer.text.empty()) Tell(&state_, answer.text, answer.failed ? Tint::kBad : Tint::kDim);
    if (!answer.failed) return Forget(answer.request_id);
    for (Question& each : state_.asked) Reopen(answer.request_id, &each);
    for (Question& each : state_.requests) Reopen(answer.request_id, &each);
  }

  void operator()(const CommandEnded& ended) {
    state_.command.clear();
    if (!ended.failure.empty()) Tell(&state_, ended.failure, Tint::kBad);
  }

 private:
  void TellFailure(const Failure& failure) {
    Tell(&state_, failure.what + (failure.why.empty() ? "" : ": " + failure.why), Tint::kBad);
    if (!failure.next.empty()) Tell(&state_, "  " + failure.next, Tint::kDim);
  }

  static void Reopen(const std::string& request_id, Question* question) {
    if (question->request().request_id() == request_id) question->set_sent(false);
  }

  void Forget(const std::string& request_id) {
    const auto is_it = [&](const Question& each) {
      return each.request().request_id() == request_id;
    };
    std::erase_if(state_.asked, is_it);
    std::erase_if(state_.requests, is_it);
    ClampSelection();
  }

  void ClampSelection() {
    const size_t count = state_.requests.size();
    state_.request_selected = std::min(state_.request_selected, count == 0 ? 0 : count - 1);
  }

  void Replace(View view, Viewer viewer) {
    Viewer& old = state_.viewers[view];
    const std::string selected = old.rows.empty() ? "" : old.rows[old.selected].id;
    for (size_t i = 0; i < viewer.rows.size(); ++i) {
      if (viewer.rows[i].id == selected) viewer.selected = i;
    }
    old = std::move(viewer);
  }

  void EndTurn(const std::string& turn_id) {
    if (state_.running_turn == turn_id) state_.running_turn.clear();
    std::erase_if(state_.asked,
                  [&](const Question& each) { return each.request().turn_id() == turn_id; });
  }

  TuiState& state_;
  std::vector<Effect>& effects_;
};

void Updater::operator()(const Event& event) {
  state_.transcript.Add(event);
  switch (event.payload_case()) {
    case Event::kTurnStarted:
      state_.running_turn = event.turn_started().turn_id();
      return;
    case Event::kTurnCompleted: {
      const agent::v1::Usage& usage = event.turn_completed().usage();
      state_.used.input += usage.input_tokens();
      state_.used.output += usage.output_tokens();
      state_.used.cost_microdollars += usage.cost_microdollars();
      state_.used.has_cost = state_.used.has_cost || usage.has_cost_microdollars();
      return EndTurn(event.turn_completed().turn_id());
    }
    case Event::kTurnFailed:
      return EndTurn(event.turn_failed().turn_id());
    case Event::kTurnCancelled:
      return EndTurn(event.turn_cancelled().turn_id());
    case Event::kPermissionRequested:
      state_.asked.emplace_back(event.session_id(), event.permission_requested());
      return;
    case Event::kApprovalResolved:
      return Forget(event.approval_resolved().request_id());
    case Event::kAccessDenied:
      state_.denials.push_back(DenialLine(event.access_denied().denial()));
      if (state_.denials.size() > kDenials) state_.denials.pop_front();
      return;
    default:
      return;
  }
}

void Updater::operator()(const ApprovalsListed& listed) {
  std::vector<Question> questions;
  const std::string selected =
      state_.requests.empty() ? ""
                              : state_.requests[state_.request_selected].request().request_id();
  state_.request_selected = 0;
  for (const agent::v1::Approval& each : listed.approvals.approvals()) {
    // What was shown of it stays shown, if it is the same to the byte.
    const auto known =
        std::find_if(state_.requests.begin(), state_.requests.end(), [&](const Question& question) {
          return question.request().request_id() == each.request().request_id() &&
                 question.request().digest() == each.request().digest();
        });
    if (each.request().request_id() == selected) state_.request_selected = questions.size();
    if (known != state_.requests.end()) {
      questions.push_back(std::move(*known));
    } else {
      questions.emplace_back(each.session_id(), each.request());
    }
  }
  state_.requests = std::move(questions);
  ClampSelection();
}

// What is on the screen after this change was shown.
void MarkShown(TuiState* state) {
  Question* const question = ShownQuestion(state);
  if (question == nullptr) return;
  question->MarkShown(LayoutOf(*state).question, state->columns, state->now_ms);
}

}  // namespace

std::vector<Effect> Update(TuiState* state, const TuiEvent& event, uint64_t now_ms) {
  std::vector<Effect> effects;
  state->now_ms = now_ms;
  std::visit(Updater(state, &effects), event);
  MarkShown(state);
  return effects;
}

}  // namespace odyssey::ctl
