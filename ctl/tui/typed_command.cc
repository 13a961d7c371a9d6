#include "ctl/tui/typed_command.h"

#include <algorithm>
#include <utility>

#include "ctl/base/sanitize.h"
#include "ctl/tui/slash_command.h"
#include "ctl/tui/viewers.h"

namespace odyssey::ctl {
namespace {

constexpr char kApproveWord[] = "approve";

std::string Join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

void UseBundle(TuiState* state, const std::string& reference, std::vector<Effect>* effects) {
  state->bundle = reference;
  state->agent_id.clear();
  state->described.reset();
  effects->push_back(DescribeBundle{reference});
  Tell(state, "bundle " + reference + ": of the next session; /new makes it", Tint::kDim);
}

void UseAgent(TuiState* state, const std::string& id) {
  std::vector<std::string> known;
  if (state->described) {
    for (const agent::v1::BundleAgent& agent : state->described->agents()) {
      known.push_back(agent.id());
    }
  }
  if (!known.empty() && std::find(known.begin(), known.end(), id) == known.end()) {
    return Tell(state, "unknown agent '" + id + "'. Available: " + Join(known), Tint::kBad);
  }
  state->agent_id = id;
  state->viewers[View::kAgents] = AgentViewer(state->described, id);
  Tell(state, "agent " + id + ": of the next session; /new makes it", Tint::kDim);
}

// A bundle's agent names its model: to choose a model is to choose an agent that uses it.
void UseModel(TuiState* state, const std::string& id) {
  std::vector<std::string> known;
  if (state->described) {
    for (const agent::v1::BundleAgent& agent : state->described->agents()) {
      if (id == agent.model_id() || id == ModelOf(agent)) {
        state->agent_id = agent.id();
        return Tell(
            state,
            "model " + id + " of agent " + agent.id() + ": of the next session; /new makes it",
            Tint::kDim);
      }
      known.push_back(ModelOf(agent));
    }
  }
  Tell(state,
       known.empty() ? "no installed bundle is chosen: /bundles lists them"
                     : "unknown model '" + id + "'. Available: " + Join(known),
       Tint::kBad);
}

void UseTheme(TuiState* state, const std::string& name, std::vector<Effect>* effects) {
  const auto& themes = state->themes;
  if (std::find(themes.begin(), themes.end(), name) == themes.end()) {
    return Tell(state, "unknown theme '" + name + "'. Available: " + Join(themes), Tint::kBad);
  }
  state->theme = name;
  state->viewers[View::kThemes] = ThemeViewer(themes, name);
  effects->push_back(SaveTheme{name});
  Tell(state, "theme " + name, Tint::kDim);
}

void RunSlash(TuiState* state, const SlashCommand& command, std::vector<Effect>* effects) {
  switch (command.verb) {
    case Verb::kNew:
      return MakeSession(state, effects);
    case Verb::kBundleInstall:
      Tell(state, "installing " + command.argument, Tint::kDim);
      return effects->push_back(InstallBundle{command.argument});
    case Verb::kBundleUse:
      return UseBundle(state, command.argument, effects);
    case Verb::kBundles:
      return ShowView(state, View::kBundles, effects);
    case Verb::kAgents:
      return ShowView(state, View::kAgents, effects);
    case Verb::kAgent:
      return UseAgent(state, command.argument);
    case Verb::kModels:
      return ShowView(state, View::kModels, effects);
    case Verb::kModel:
      return UseModel(state, command.argument);
    case Verb::kThemes:
      return ShowView(state, View::kThemes, effects);
    case Verb::kTheme:
      return UseTheme(state, command.argument, effects);
    case Verb::kSessions:
      return ShowView(state, View::kSessions, effects);
    case Verb::kSkills:
      return ShowView(state, View::kSkills, effects);
    case Verb::kJoin:
      ShowView(state, View::kConversation, effects);
      return effects->push_back(JoinSession{command.argument});
    case Verb::kApprovals:
      return ShowView(state, View::kApprovals, effects);
    case Verb::kDashboard:
      return ShowView(state, View::kDashboard, effects);
    case Verb::kCancel:
      return CancelTurn(state, effects);
    case Verb::kHelp:
      return ShowView(state, View::kHelp, effects);
    case Verb::kQuit:
      return effects->push_back(Quit{});
  }
}

void RunOperators(TuiState* state, const std::string& command, std::vector<Effect>* effects) {
  if (!state->command.empty()) {
    return Tell(state, "!" + state->command + " runs; Ctrl+C ends it", Tint::kBad);
  }
  state->command = command;
  effects->push_back(RunInCell{state->session->id(), command});
}

}  // namespace

void Tell(TuiState* state, const std::string& text, Tint tint) {
  state->transcript.Note(text, tint);
  state->notice = Sanitize(text, Lines::kOne);
  state->notice_tint = tint;
}

void ShowView(TuiState* state, View view, std::vector<Effect>* effects) {
  state->view = view;
  state->notice.clear();
  if (view == View::kAgents) {
    state->viewers[view] = AgentViewer(state->described, state->agent_id);
  } else if (view == View::kModels) {
    state->viewers[view] = ModelViewer(state->described);
  } else if (view == View::kSkills) {
    state->viewers[view] = SkillViewer(state->described);
  } else if (view == View::kThemes) {
    state->viewers[view] = ThemeViewer(state->themes, state->theme);
  }
  effects->push_back(LoadView{view});
}

void MakeSession(TuiState* state, std::vector<Effect>* effects) {
  if (state->creating) return;
  if (state->bundle.empty()) {
    state->unsent.clear();
    return Tell(state,
                "no bundle: /bundle install [path] installs one, /bundle use <bundle_ref> names "
                "one that is installed",
                Tint::kBad);
  }
  state->creating = true;
  effects->push_back(CreateSessionOf{state->bundle, state->agent_id, state->cwd});
}

void CancelTurn(TuiState* state, std::vector<Effect>* effects) {
  if (!state->session || state->running_turn.empty()) {
    return Tell(state, "no turn runs", Tint::kDim);
  }
  Tell(state, "cancelling the turn", Tint::kDim);
  effects->push_back(CancelRunning{state->session->id(), state->running_turn});
}

void SendUnsent(TuiState* state, std::vector<Effect>* effects) {
  const std::string line = std::exchange(state->unsent, {});
  if (line.empty() || !state->session) return;
  state->transcript.ScrollToEnd();
  if (line.front() == '!') return RunOperators(state, std::string(Trim(line.substr(1))), effects);
  effects->push_back(SubmitPrompt{state->session->id(), line});
}

void RunTyped(TuiState* state, const std::string& line, std::vector<Effect>* effects) {
  const std::string_view typed = Trim(line);
  if (typed.empty()) return;
  state->notice.clear();
  effects->push_back(SaveHistory{});
  Question* const question = ShownQuestion(state);
  if (question != nullptr && typed == kApproveWord && question->MayAllow(state->now_ms)) {
    question->set_sent(true);
    state->pace.CountAllow(question->request().tool_name(), state->now_ms);
    return effects->push_back(SendAnswerTo{question->request(), *question->AnswerOf('y')});
  }
  if (const std::optional<ParsedSlash> slash = ParseSlash(line)) {
    if (slash->command) return RunSlash(state, *slash->command, effects);
    return Tell(state, slash->error, Tint::kBad);
  }
  if (typed.front() == '!' && Trim(typed.substr(1)).empty()) {
    return Tell(state, "usage: !command", Tint::kBad);
  }
  if (state->view != View::kConversation) ShowView(state, View::kConversation, effects);
  if (state->creating) return Tell(state, "the session is being made", Tint::kBad);
  state->unsent = line;
  if (!state->session) return MakeSession(state, effects);
  SendUnsent(state, effects);
}

void ActivateSelected(TuiState* state, std::vector<Effect>* effects) {
  const auto viewer = state->viewers.find(state->view);
  if (viewer == state->viewers.end() || viewer->second.rows.empty()) return;
  const std::string id = viewer->second.rows[viewer->second.selected].id;
  switch (state->view) {
    case View::kBundles:
      UseBundle(state, id, effects);
      break;
    case View::kAgents:
      UseAgent(state, id);
      break;
    case View::kModels:
      UseModel(state, id);
      break;
    case View::kThemes:
      UseTheme(state, id, effects);
      break;
    case View::kSessions:
      effects->push_back(JoinSession{id});
      break;
    default:
      return;
  }
  if (state->view != View::kThemes) ShowView(state, View::kConversation, effects);
}

}  // namespace odyssey::ctl
