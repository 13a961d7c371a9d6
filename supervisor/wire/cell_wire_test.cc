#include "supervisor/wire/cell_wire.h"

#include <gtest/gtest.h>

namespace odyssey::cell {
namespace {

ExecSpec SampleExec() {
  ExecSpec spec = {.argv = {"sh", "-lc", "echo hi"},
                   .env = {"A=1", "EMPTY="},
                   .cwd = "/workspace",
                   .terminal = true,
                   .rows = 24,
                   .columns = 65535,
                   .run = uint64_t{1} << 63,
                   .port = 65535};
  uint64_t value = uint64_t{1} << 40;
  for (const ExecLimit& limit : kExecLimits) spec.*limit.member = ++value;
  return spec;
}

Configure SampleConfigure() {
  return {.rules = {{"/", kRead}, {"/usr", kRead | kExecute}},
          .tool_roots = {{"/tmp"}, {"/x", {".md", ".tar.gz"}, 1000}},
          .guards = {{"/workspace", true, {"**/.env", "secrets/**"}}},
          .own_network = false,
          .max_sockets = 321,
          .denies_write_exec = true,
          .landlock_abi = 6};
}

ExecExited SampleExited() {
  return {.wait_status = -1,
          .user_usec = 2,
          .system_usec = 3,
          .max_rss_bytes = uint64_t{1} << 40,
          .pid = 4,
          .refused = {{41, {17, 3, 768}, uint64_t{1} << 33, 5, "ping"},
                      {165, {}, 1, 6, "", "192.0.2.1:443"}},
          .refused_more = 7,
          .full = {"/tmp"},
          .left = {"python3", "sleep"}};
}

// Every message but the one decoded here is refused, as is every cut and every added byte.
template <typename T>
void ExpectStrict(const std::string& bytes, MessageType type) {
  T out;
  EXPECT_TRUE(Decode(bytes, &out).ok());
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_EQ(Decode(std::string_view(bytes).substr(0, n), &out).code(), Code::kInvalidArgument);
  }
  EXPECT_FALSE(Decode(bytes + '\0', &out).ok());
  const Result<MessageType> actual = TypeOf(bytes);
  ASSERT_TRUE(actual.ok());
  EXPECT_EQ(*actual, type);
  std::string other = bytes;
  other[1] = static_cast<char>(type == MessageType::kHello ? MessageType::kExecExited
                                                           : MessageType::kHello);
  EXPECT_FALSE(Decode(other, &out).ok());
}

TEST(CellWireTest, DecodesWhatItEncodes) {
  ExecSpec exec;
  ASSERT_TRUE(Decode(Encode(SampleExec()), &exec).ok());
  EXPECT_EQ(exec, SampleExec());

  Configure configure;
  ASSERT_TRUE(Decode(Encode(SampleConfigure()), &configure).ok());
  EXPECT_EQ(configure, SampleConfigure());

  Unmapped unmapped;
  ASSERT_TRUE(Decode(Encode(Unmapped{{"/d", "/e"}}), &unmapped).ok());
  EXPECT_EQ(unmapped, (Unmapped{{"/d", "/e"}}));

  ExecExited exited;
  ASSERT_TRUE(Decode(Encode(SampleExited()), &exited).ok());
  EXPECT_EQ(exited, SampleExited());
  ASSERT_TRUE(Decode(Encode(ExecExited{}), &exited).ok());
  EXPECT_EQ(exited, ExecExited{}) << "nothing of the last one is left";

  ExecError error;
  const ExecError sample = {ExecStep::kExec, ErrnoStatus(13, "curl")};
  ASSERT_TRUE(Decode(Encode(sample), &error).ok());
  EXPECT_EQ(error.step, ExecStep::kExec);
  EXPECT_EQ(error.status, sample.status);
  EXPECT_EQ(error.status.detail().error, 13);

  CellError failed;
  const std::string long_cause = std::string(150, 'x') + ": Permission denied";
  ASSERT_TRUE(Decode(Encode(CellError{PermissionDenied(long_cause)}), &failed).ok());
  EXPECT_EQ(failed.status.message(), long_cause) << "the cause is at the end";

  SignalSlot signal;
  ASSERT_TRUE(Decode(Encode(SignalSlot{15, true}), &signal).ok());
  EXPECT_EQ(signal.signal, 15);
  EXPECT_TRUE(signal.everyone);
}

TEST(CellWireTest, RefusesAnythingButExactlyTheMessage) {
  ExpectStrict<Hello>(Encode(Hello{6, 7}), MessageType::kHello);
  ExpectStrict<Configure>(Encode(SampleConfigure()), MessageType::kConfigure);
  ExpectStrict<Unmapped>(Encode(Unmapped{{"/d", "/e"}}), MessageType::kUnmapped);
  ExpectStrict<SlotReady>(Encode(SlotReady{7}), MessageType::kSlotReady);
  ExpectStrict<SlotGone>(Encode(SlotGone{7}), MessageType::kSlotGone);
  ExpectStrict<CellError>(Encode(CellError{ErrnoStatus(1, "clone"), true}),
                          MessageType::kCellError);
  ExpectStrict<ExecSpec>(Encode(SampleExec()), MessageType::kExecSpec);
  ExpectStrict<ExecError>(Encode(ExecError{ExecStep::kChdir, ErrnoStatus(2, "chdir")}),
                          MessageType::kExecError);
  ExpectStrict<SignalSlot>(Encode(SignalSlot{9, false}), MessageType::kSignalSlot);
  ExpectStrict<ExecExited>(Encode(SampleExited()), MessageType::kExecExited);
}

TEST(CellWireTest, KnowsTheEmptyMessages) {
  for (const MessageType type :
       {MessageType::kWantSlot, MessageType::kWantTools, MessageType::kToolsReady,
        MessageType::kTerminalReady, MessageType::kKillSlot}) {
    const Result<MessageType> decoded = TypeOf(EncodeEmpty(type));
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, type);
  }
}

TEST(CellWireTest, RefusesTypesAndVersionsThatAreNotOurs) {
  EXPECT_FALSE(TypeOf("").ok());
  EXPECT_FALSE(TypeOf("\1").ok());
  EXPECT_FALSE(TypeOf(std::string("\1\0", 2)).ok());
  EXPECT_FALSE(TypeOf("\1\23").ok());
  EXPECT_FALSE(TypeOf("\2\1").ok());
  EXPECT_TRUE(TypeOf("\1\22").ok());
}

TEST(CellWireTest, RefusesExecsThatTheKernelWouldCut) {
  const auto refused = [](ExecSpec spec) {
    ExecSpec out;
    return Decode(Encode(spec), &out).code() == Code::kInvalidArgument;
  };
  ExecSpec spec = SampleExec();
  spec.argv.clear();
  EXPECT_TRUE(refused(spec));
  spec = SampleExec();
  spec.argv[2] = std::string("a\0b", 3);
  EXPECT_TRUE(refused(spec));
  spec = SampleExec();
  spec.env[0] = std::string("A=\0", 3);
  EXPECT_TRUE(refused(spec));
  spec = SampleExec();
  spec.cwd = "relative";
  EXPECT_TRUE(refused(spec));
  spec = SampleExec();
  spec.argv[1].assign(kMaxExecBytes, 'a');
  EXPECT_TRUE(refused(spec));
  spec = SampleExec();
  spec.argv.assign(kMaxArgv + 1, "a");
  EXPECT_TRUE(refused(spec));
}

TEST(CellWireTest, RefusesRulesWithoutRightsOrPath) {
  const auto refused = [](LandlockRule rule) {
    Configure out;
    return !Decode(Encode(Configure{.rules = {rule}}), &out).ok();
  };
  EXPECT_FALSE(refused({"/usr", kRead | kWrite | kExecute}));
  EXPECT_TRUE(refused({"/usr", 0}));
  EXPECT_FALSE(refused({"/usr", kRead | kIfThere}));
  EXPECT_TRUE(refused({"/usr", kIfThere}));
  EXPECT_TRUE(refused({"/usr", 16}));
  EXPECT_TRUE(refused({"usr", kRead}));
  EXPECT_TRUE(refused({"", kRead}));
  EXPECT_TRUE(refused({std::string("/a\0b", 4), kRead}));
}

TEST(CellWireTest, RefusesTooManyRules) {
  Configure out;
  Configure many{.rules = std::vector<LandlockRule>(kMaxRules + 1, {"/", kRead})};
  EXPECT_FALSE(Decode(Encode(many), &out).ok());
}

TEST(CellWireTest, RefusesTooManySuffixes) {
  Configure out;
  Configure many{.tool_roots = {{"/x", std::vector<std::string>(kMaxSuffixes + 1, ".a")}}};
  EXPECT_FALSE(Decode(Encode(many), &out).ok());
  many.tool_roots[0].suffixes = {std::string(kMaxSuffixBytes + 1, '.')};
  EXPECT_FALSE(Decode(Encode(many), &out).ok());
}

TEST(CellWireTest, RefusesMoreCallsThanASlotTells) {
  ExecExited out;
  ExecExited many = SampleExited();
  many.refused.assign(kMaxRefusedCalls + kMaxRefusedNames, many.refused[0]);
  EXPECT_TRUE(Decode(Encode(many), &out).ok());
  many.refused.push_back(many.refused[0]);
  EXPECT_FALSE(Decode(Encode(many), &out).ok());
  many = SampleExited();
  many.refused[1].destination.assign(kMaxDestinationBytes + 1, 'd');
  EXPECT_FALSE(Decode(Encode(many), &out).ok());
  many = SampleExited();
  many.refused[1].comm.assign(kMaxComm + 1, 'c');
  EXPECT_FALSE(Decode(Encode(many), &out).ok());
}

TEST(CellWireTest, NamesOfRunsSortByAgeAndReadBack) {
  EXPECT_EQ(RunName(0x1f), "run_000000000000001f");
  EXPECT_LT(RunName(9), RunName(10));
  EXPECT_EQ(RunNumber(RunName(UINT64_MAX)), UINT64_MAX);
  for (const char* name : {"", "run_", "run_1", "run_00000000000000001", "run_000000000000001F",
                           "run_00000000000000-1", "run_000000000000/../", "RUN_0000000000000001",
                           "run_0000000000000000"}) {
    EXPECT_EQ(RunNumber(name), 0u) << name;
  }
  EXPECT_NE(SpareRunName(7), SpareRunName(8));
  EXPECT_EQ(RunNumber(SpareRunName(7)), 0u);
}

TEST(CellWireTest, CutsALongStepInsteadOfLosingTheError) {
  ExecError error;
  ASSERT_TRUE(
      Decode(Encode(ExecError{.status = ErrnoStatus(5, std::string(9000, 's'))}), &error).ok());
  EXPECT_EQ(error.status.detail().error, 5);
}

}  // namespace
}  // namespace odyssey::cell
