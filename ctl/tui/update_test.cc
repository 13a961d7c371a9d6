#include "ctl/tui/update.h"

#include <gtest/gtest.h>

#include "ctl/tui/frame.h"
#include "ctl/tui/theme.h"

namespace odyssey::ctl {
namespace {

using agent::v1::Event;

constexpr char kSession[] = "ses_0123456789abcdef0123456789abcdef";

class UpdateTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { UseUtf8Characters(); }

  UpdateTest() {
    state_.themes = ThemeNames();
    state_.theme = kDefaultTheme;
  }

  std::vector<Effect> Do(const TuiEvent& event) { return Update(&state_, event, now_ms_); }
  std::vector<Effect> Press(Key::Code code, const std::string& text = "") {
    return Do(Key{code, text});
  }
  std::vector<Effect> Control(char letter) { return Press(Key::kControl, {letter}); }
  void Type(const std::string& text) {
    for (const char c : text) Press(Key::kText, {c});
  }
  std::vector<Effect> Enter(const std::string& line) {
    Type(line);
    return Press(Key::kEnter);
  }
  template <typename T>
  static const T* Find(const std::vector<Effect>& effects) {
    for (const Effect& effect : effects) {
      if (const T* const found = std::get_if<T>(&effect)) return found;
    }
    return nullptr;
  }

  std::vector<Effect> Open(const std::string& id = kSession) {
    SessionOpened opened;
    opened.session.set_id(id);
    opened.session.set_bundle_ref("local/demo@1.0.0");
    opened.session.set_agent_id("demo");
    return Do(opened);
  }
  void StartTurn() {
    Event event;
    event.mutable_turn_started()->set_turn_id("trn_1");
    Do(event);
  }
  static agent::v1::PermissionRequested Request(const std::string& id, const std::string& command) {
    agent::v1::PermissionRequested request;
    request.set_turn_id("trn_1");
    request.set_request_id(id);
    request.set_tool_name("Bash");
    request.set_arguments_json(R"({"command":")" + command + R"("})");
    request.set_digest("digest of " + id);
    return request;
  }
  void Ask(const std::string& id, const std::string& command = "ls") {
    Event event;
    event.set_session_id(kSession);
    *event.mutable_permission_requested() = Request(id, command);
    Do(event);
  }
  void Read() {
    now_ms_ += Question::kReadMs;
    Do(ClockTick{});
  }
  std::string Screen() const {
    std::string out;
    for (const StyledLine& row : Draw(state_).rows) out += PlainText(row) + "\n";
    return out;
  }
  bool Shows(const std::string& text) const { return Screen().find(text) != std::string::npos; }

  TuiState state_;
  uint64_t now_ms_ = 1000;
};

TEST_F(UpdateTest, AMessageMakesASessionAndIsSentToIt) {
  state_.bundle = "demo";
  std::vector<Effect> effects = Enter("hello there");
  ASSERT_NE(Find<CreateSessionOf>(effects), nullptr);
  EXPECT_EQ(Find<CreateSessionOf>(effects)->bundle, "demo");
  EXPECT_EQ(Find<SubmitPrompt>(effects), nullptr);
  EXPECT_NE(Find<SaveHistory>(effects), nullptr);
  effects = Open();
  ASSERT_NE(Find<SubmitPrompt>(effects), nullptr);
  EXPECT_EQ(Find<SubmitPrompt>(effects)->prompt, "hello there");
  EXPECT_EQ(Find<SubmitPrompt>(effects)->session_id, kSession);
  effects = Enter("more");
  ASSERT_NE(Find<SubmitPrompt>(effects), nullptr);
  EXPECT_EQ(Find<SubmitPrompt>(effects)->prompt, "more");
}

TEST_F(UpdateTest, WithoutABundleItSaysHowToHaveOne) {
  EXPECT_EQ(Find<CreateSessionOf>(Enter("hello")), nullptr);
  EXPECT_TRUE(Shows("no bundle: /bundle install [path] installs one")) << Screen();
  EXPECT_EQ(Find<CreateSessionOf>(Control('n')), nullptr);
}

TEST_F(UpdateTest, AMessageForASessionThatCannotBeMadeIsNotLost) {
  state_.bundle = "demo";
  Enter("hello");
  Do(SessionNotOpened{{"create a session", "bundle not found: demo", "Install it."}});
  EXPECT_EQ(state_.typed.text(), "hello");
  EXPECT_TRUE(Shows("create a session: bundle not found: demo"));
  EXPECT_TRUE(Shows("Install it."));
  EXPECT_NE(Find<CreateSessionOf>(Press(Key::kEnter)), nullptr);
}

TEST_F(UpdateTest, CommandsOfAnOperatorRunInTheCell) {
  Open();
  const std::vector<Effect> effects = Enter("! ls -l ");
  ASSERT_NE(Find<RunInCell>(effects), nullptr);
  EXPECT_EQ(Find<RunInCell>(effects)->command, "ls -l");
  EXPECT_EQ(Find<RunInCell>(Enter("!pwd")), nullptr);
  EXPECT_TRUE(Shows("!ls -l runs; Ctrl+C ends it"));
  EXPECT_NE(Find<StopCommand>(Control('c')), nullptr);
  Do(CommandEnded{});
  EXPECT_NE(Find<Quit>(Control('c')), nullptr);
  EXPECT_EQ(Find<RunInCell>(Enter("!")), nullptr);
  EXPECT_TRUE(Shows("usage: !command"));
}

TEST_F(UpdateTest, KeysDoWhatThePageSays) {
  state_.bundle = "demo";
  EXPECT_NE(Find<CreateSessionOf>(Control('n')), nullptr);
  EXPECT_NE(Find<Redraw>(Control('r')), nullptr);
  Press(Key::kTab);
  EXPECT_EQ(state_.view, View::kAgents);
  Press(Key::kEscape);
  EXPECT_EQ(state_.view, View::kConversation);
  Control('o');
  EXPECT_EQ(state_.view, View::kDashboard);
  Control('p');
  EXPECT_EQ(state_.view, View::kApprovals);
  Press(Key::kF1);
  EXPECT_EQ(state_.view, View::kHelp);
  Press(Key::kEscape);
  Type("draft");
  EXPECT_EQ(Find<Quit>(Press(Key::kEscape)), nullptr);
  EXPECT_EQ(state_.typed.text(), "");
  EXPECT_NE(Find<Quit>(Press(Key::kEscape)), nullptr);
}

TEST_F(UpdateTest, EveryViewIsReachedByItsCommandAndFitsTheScreen) {
  const std::pair<const char*, View> views[] = {{"/bundles", View::kBundles},
                                                {"/agents", View::kAgents},
                                                {"/sessions", View::kSessions},
                                                {"/session list", View::kSessions},
                                                {"/skills", View::kSkills},
                                                {"/session skills", View::kSkills},
                                                {"/models", View::kModels},
                                                {"/theme", View::kThemes},
                                                {"/approvals", View::kApprovals},
                                                {"/dashboard", View::kDashboard},
                                                {"/help", View::kHelp}};
  for (const auto& [line, view] : views) {
    const std::vector<Effect> effects = Enter(line);
    EXPECT_EQ(state_.view, view) << line;
    ASSERT_NE(Find<LoadView>(effects), nullptr) << line;
    for (const auto& [rows, columns] : {std::pair<size_t, size_t>{24, 80}, {16, 60}, {50, 200}}) {
      Do(Resized{rows, columns});
      const Frame frame = Draw(state_);
      ASSERT_EQ(frame.rows.size(), rows) << line;
      for (const StyledLine& row : frame.rows) EXPECT_LE(WidthOf(PlainText(row)), columns) << line;
    }
  }
}

TEST_F(UpdateTest, WhatIsUnknownIsSaid) {
  Enter("/nosuch");
  EXPECT_TRUE(Shows("unknown command: nosuch"));
  Enter("/join x");
  EXPECT_TRUE(Shows("invalid session id"));
  Enter("/theme x");
  EXPECT_TRUE(Shows("unknown theme 'x'. Available: odyssey, light, plain")) << Screen();
  const std::vector<Effect> effects = Enter("/theme light");
  ASSERT_NE(Find<SaveTheme>(effects), nullptr);
  EXPECT_EQ(state_.theme, "light");
}

BundleDescribed Described() {
  BundleDescribed described = {"demo", {}};
  described.bundle.set_manifest(R"({"skills":[{"name":"review","path":"./skills/review"}]})");
  for (const char* const id : {"one", "two"}) {
    agent::v1::BundleAgent* const agent = described.bundle.add_agents();
    agent->set_id(id);
    agent->set_model_provider("openai");
    agent->set_model_id(std::string("model-") + id);
  }
  return described;
}

TEST_F(UpdateTest, AgentsAndModelsAreThoseOfTheBundle) {
  EXPECT_NE(Find<DescribeBundle>(Enter("/bundle use demo")), nullptr);
  Do(Described());
  Enter("/agent three");
  EXPECT_TRUE(Shows("unknown agent 'three'. Available: one, two"));
  Enter("/agent two");
  EXPECT_EQ(Find<CreateSessionOf>(Control('n'))->agent_id, "two");
  state_.creating = false;
  Enter("/model x");
  EXPECT_TRUE(Shows("unknown model 'x'. Available: openai/model-one, openai/model-two"));
  Enter("/model model-one");
  EXPECT_EQ(state_.agent_id, "one");
  Enter("/skills");
  EXPECT_TRUE(Shows("review"));
  Enter("/agents");
  Press(Key::kDown);
  Control('s');
  EXPECT_EQ(state_.agent_id, "two");
  EXPECT_EQ(state_.view, View::kConversation);
}

TEST_F(UpdateTest, ThePaletteIsChosenFromAndCompleted) {
  Type("/s");
  EXPECT_TRUE(Shows("▸ /sessions"));
  Press(Key::kDown);
  EXPECT_TRUE(Shows("▸ /skills"));
  Press(Key::kTab);
  EXPECT_EQ(state_.typed.text(), "/skills ");
  Press(Key::kEscape);
  // A slash alone is no message.
  Type("/");
  Press(Key::kEnter);
  EXPECT_EQ(state_.typed.text(), "/new ");
}

TEST_F(UpdateTest, AnApprovalIsAnsweredByAKey) {
  Open();
  StartTurn();
  const std::pair<const char*, agent::v1::Decision> keys[] = {
      {"y", agent::v1::DECISION_ALLOW_ONCE},
      {"a", agent::v1::DECISION_ALLOW_ALWAYS},
      {"n", agent::v1::DECISION_DENY}};
  for (const auto& [key, decision] : keys) {
    Ask(key, "echo " + std::string(key));
    EXPECT_TRUE(Shows("Bash asks for approval"));
    Read();
    EXPECT_TRUE(Shows("y once · a always · n deny")) << Screen();
    const std::vector<Effect> effects = Press(Key::kText, key);
    ASSERT_NE(Find<SendAnswerTo>(effects), nullptr) << key;
    EXPECT_EQ(Find<SendAnswerTo>(effects)->answer.decision, decision);
    EXPECT_EQ(Find<SendAnswerTo>(effects)->request.digest(), "digest of " + std::string(key));
    // Once.
    EXPECT_EQ(Find<SendAnswerTo>(Press(Key::kText, key)), nullptr);
    Do(Answer{key});
    EXPECT_FALSE(Shows("asks for approval\n──"));
    EXPECT_EQ(ShownQuestion(state_), nullptr);
  }
}

TEST_F(UpdateTest, WithoutAQuestionTheKeysAreText) {
  Open();
  Type("yan");
  EXPECT_EQ(state_.typed.text(), "yan");
  Ask("req_1");
  Read();
  EXPECT_EQ(Find<SendAnswerTo>(Press(Key::kText, "y")), nullptr);
  EXPECT_EQ(state_.typed.text(), "yany");
}

TEST_F(UpdateTest, AKeyThatCannotBeAnAnswerYetIsNone) {
  Open();
  Ask("req_1");
  for (const char* const key : {"y", "a", "n"}) {
    EXPECT_EQ(Find<SendAnswerTo>(Press(Key::kText, key)), nullptr);
  }
  EXPECT_EQ(state_.typed.text(), "");
  // What is pasted is no answer at any time.
  Read();
  Press(Key::kPasteBegin);
  EXPECT_EQ(Find<SendAnswerTo>(Press(Key::kText, "y")), nullptr);
  Press(Key::kPasteEnd);
  Press(Key::kEscape);
  EXPECT_NE(Find<SendAnswerTo>(Press(Key::kText, "n")), nullptr);
}

std::string Lines(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += "echo " + std::to_string(i) + "\\n";
  return out;
}

TEST_F(UpdateTest, AYesNeedsTheWholeRequestToHaveBeenShown) {
  Open();
  Ask("req_1", Lines(50));
  Read();
  EXPECT_EQ(Find<SendAnswerTo>(Press(Key::kText, "y")), nullptr);
  EXPECT_TRUE(Shows("more rows · n deny")) << Screen();
  for (int i = 0; i < 10; ++i) Press(Key::kPageDown);
  EXPECT_TRUE(Shows("echo 49"));
  EXPECT_NE(Find<SendAnswerTo>(Press(Key::kText, "y")), nullptr);
}

TEST_F(UpdateTest, ANoIsTakenBeforeTheEndWasShown) {
  Open();
  Ask("req_1", Lines(50));
  Read();
  EXPECT_NE(Find<SendAnswerTo>(Press(Key::kText, "n")), nullptr);
}

TEST_F(UpdateTest, AnotherWidthIsReadAnew) {
  Open();
  Ask("req_1", std::string(1100, 'x'));
  for (int i = 0; i < 20; ++i) Press(Key::kPageDown);
  Read();
  EXPECT_TRUE(Shows("y once")) << Screen();
  Do(Resized{16, 60});
  EXPECT_FALSE(Shows("y once")) << Screen();
}

TEST_F(UpdateTest, AfterThreeQuickYesesAWordIsTyped) {
  Open();
  for (int i = 0; i < 3; ++i) {
    Ask("req_" + std::to_string(i));
    Read();
    ASSERT_NE(Find<SendAnswerTo>(Press(Key::kText, "y")), nullptr);
    Do(Answer{"req_" + std::to_string(i)});
  }
  Ask("req_4");
  Read();
  EXPECT_TRUE(Shows("type approve: once · n deny")) << Screen();
  EXPECT_EQ(Find<SendAnswerTo>(Press(Key::kText, "y")), nullptr);
  const std::vector<Effect> effects = Enter("approve");
  ASSERT_NE(Find<SendAnswerTo>(effects), nullptr);
  EXPECT_EQ(Find<SendAnswerTo>(effects)->answer.decision, agent::v1::DECISION_ALLOW_ONCE);
}

TEST_F(UpdateTest, AnAdditionToTheCellIsForTheCallOrTheSession) {
  Open();
  Event event;
  *event.mutable_permission_requested() = Request("req_1", "ls");
  event.mutable_permission_requested()->mutable_grants()->add_grants()->set_value("/srv");
  Do(event);
  Read();
  EXPECT_TRUE(Shows("y this call · s this session · n deny")) << Screen();
  EXPECT_EQ(Find<SendAnswerTo>(Press(Key::kText, "a")), nullptr);
  Press(Key::kEscape);
  const std::vector<Effect> effects = Press(Key::kText, "s");
  ASSERT_NE(Find<SendAnswerTo>(effects), nullptr);
  EXPECT_EQ(Find<SendAnswerTo>(effects)->answer.grant_scope, agent::v1::GRANT_SCOPE_SESSION);
}

TEST_F(UpdateTest, AnAnswerThatFailedCanBeGivenAgain) {
  Open();
  Ask("req_1");
  Read();
  Press(Key::kText, "y");
  Do(Answer{"req_1", true, "answer the approval: the request has changed"});
  EXPECT_TRUE(Shows("the request has changed"));
  EXPECT_NE(Find<SendAnswerTo>(Press(Key::kText, "n")), nullptr);
}

TEST_F(UpdateTest, AQuestionEndsWithItsAnswerElsewhereOrItsTurn) {
  Open();
  StartTurn();
  Ask("req_1");
  Event resolved;
  resolved.mutable_approval_resolved()->set_request_id("req_1");
  Do(resolved);
  EXPECT_EQ(ShownQuestion(state_), nullptr);
  Ask("req_2");
  Event failed;
  failed.mutable_turn_failed()->set_turn_id("trn_1");
  Do(failed);
  EXPECT_EQ(ShownQuestion(state_), nullptr);
  EXPECT_EQ(state_.running_turn, "");
}

ApprovalsListed RequestsListed(std::initializer_list<agent::v1::PermissionRequested> requests) {
  ApprovalsListed listed;
  for (const agent::v1::PermissionRequested& request : requests) {
    agent::v1::Approval* const approval = listed.approvals.add_approvals();
    approval->set_session_id("ses_other");
    *approval->mutable_request() = request;
  }
  return listed;
}

TEST_F(UpdateTest, TheListOfRequestsAnswersForOtherSessions) {
  Do(RequestsListed({Request("req_1", "first"), Request("req_2", "second")}));
  EXPECT_TRUE(Shows("2 requests wait (Ctrl+P)")) << Screen();
  Control('p');
  EXPECT_TRUE(Shows("▸ ses_other"));
  Press(Key::kDown);
  EXPECT_TRUE(Shows("second"));
  Read();
  const std::vector<Effect> effects = Press(Key::kText, "y");
  ASSERT_NE(Find<SendAnswerTo>(effects), nullptr);
  EXPECT_EQ(Find<SendAnswerTo>(effects)->request.request_id(), "req_2");
  Do(Answer{"req_2"});
  EXPECT_FALSE(Shows("second"));
  EXPECT_TRUE(Shows("first"));
}

// An id whose content is another one is another question.
TEST_F(UpdateTest, AChangedRequestIsReadAnew) {
  Do(RequestsListed({Request("req_1", "shown")}));
  Control('p');
  Read();
  EXPECT_TRUE(Shows("y once"));
  agent::v1::PermissionRequested changed = Request("req_1", "changed");
  changed.set_digest("another");
  Do(RequestsListed({changed}));
  EXPECT_FALSE(Shows("y once")) << Screen();
  EXPECT_EQ(Find<SendAnswerTo>(Press(Key::kText, "y")), nullptr);
}

TEST_F(UpdateTest, ARunningTurnIsCancelled) {
  Open();
  Control('x');
  EXPECT_TRUE(Shows("no turn runs"));
  StartTurn();
  EXPECT_TRUE(Shows(" works "));
  ASSERT_NE(Find<CancelRunning>(Control('x')), nullptr);
  EXPECT_EQ(Find<CancelRunning>(Enter("/cancel"))->turn_id, "trn_1");
}

TEST_F(UpdateTest, ALostConnectionIsShownOnce) {
  Open();
  Do(Connection{false});
  Do(Connection{false});
  EXPECT_TRUE(Shows("connection to agentd lost; connecting again"));
  EXPECT_TRUE(Shows(" connecting "));
  Do(Connection{true});
  EXPECT_TRUE(Shows("connected again"));
  EXPECT_TRUE(Shows(" ready "));
}

TEST_F(UpdateTest, ASessionThatIsJoinedTakesTheScreen) {
  Open();
  Do(Told{"of the first"});
  Ask("req_1");
  Open("ses_ffffffffffffffffffffffffffffffff");
  EXPECT_FALSE(Shows("of the first"));
  EXPECT_EQ(ShownQuestion(state_), nullptr);
}

TEST_F(UpdateTest, TheDashboardSaysWhyItHasNoCells) {
  Control('o');
  Do(CellsListed{{}, "connect to odyssey-supervisor at /run/x: Permission denied"});
  EXPECT_TRUE(Shows("Permission denied")) << Screen();
  CellsListed listed;
  supervisor::v1::CellInfo* const cell = listed.sample.cells.add_cells();
  cell->set_cell_id("cel_0123456789abcdef");
  cell->mutable_key()->set_session_id("ses_x");
  cell->set_memory_bytes(340 << 20);
  Do(listed);
  Do(CellDescribed{"cel_0123456789abcdef", "memory 512 MiB"});
  EXPECT_TRUE(Shows("340M")) << Screen();
  EXPECT_TRUE(Shows("at most memory 512 MiB")) << Screen();
}

TEST_F(UpdateTest, HostileTextIsShownAsEscapesEverywhere) {
  const std::string hostile = "x\x1b]52;c;eA==\x07\u202E";
  SessionOpened opened;
  opened.session.set_id(kSession);
  opened.session.set_bundle_ref(hostile);
  opened.session.set_agent_id(hostile);
  Do(opened);
  agent::v1::PermissionRequested request = Request("req_1", "ls");
  request.set_arguments_json(hostile);
  Do(RequestsListed({request}));
  Event denied;
  denied.mutable_access_denied()->mutable_denial()->set_resource("/" + hostile);
  Do(denied);
  SessionsListed sessions;
  *sessions.sessions.add_sessions() = opened.session;
  Do(sessions);
  BundlesListed bundles;
  bundles.bundles.add_bundles()->set_id(hostile);
  Do(bundles);
  BundleDescribed described = {hostile, {}};
  described.bundle.add_agents()->set_id(hostile);
  Do(described);
  Type("!");
  for (const View view : {View::kConversation, View::kDashboard, View::kApprovals, View::kBundles,
                          View::kAgents, View::kSessions, View::kModels}) {
    std::vector<Effect> unused;
    state_.view = view;
    Do(Resized{40, 300});
    const std::string screen = Screen();
    EXPECT_NE(screen.find("\\e]52;c;eA==\\x07\\u{202e}"), std::string::npos) << screen;
    EXPECT_EQ(screen.find('\x1b'), std::string::npos) << screen;
    EXPECT_EQ(screen.find("\u202E"), std::string::npos) << screen;
  }
}

TEST_F(UpdateTest, AScreenThatIsTooSmallSaysWhatItNeeds) {
  Do(Resized{10, 50});
  const Frame frame = Draw(state_);
  EXPECT_EQ(frame.rows.size(), 10u);
  EXPECT_EQ(PlainText(frame.rows[0]), "odyssey-ctl tui needs 60×16; this is 50×10");
  Do(Resized{1, 1});
  EXPECT_EQ(Draw(state_).rows.size(), 1u);
  Do(Resized{24, 80});
  EXPECT_FALSE(Shows("needs"));
}

TEST_F(UpdateTest, ALongLineMovesWithTheCursor) {
  Type(std::string(200, 'x') + "end");
  const Frame frame = Draw(state_);
  EXPECT_NE(PlainText(frame.rows.back()).find("end"), std::string::npos);
  EXPECT_LT(frame.cursor_column, 80u);
  EXPECT_EQ(frame.cursor_row, 23u);
}

TEST_F(UpdateTest, ThePartsOfAScreenStandWhereTheyStand) {
  Open();
  StartTurn();
  Ask("req_1");
  Type("/b");
  const std::string screen = Screen();
  EXPECT_LT(screen.find("asks for approval"), screen.find("/bundle "));
  EXPECT_LT(screen.find("/bundle "), screen.find(" asks · "));
  EXPECT_LT(screen.find(" asks · "), screen.find("› /b"));
}

}  // namespace
}  // namespace odyssey::ctl
