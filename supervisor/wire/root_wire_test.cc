#include "supervisor/wire/root_wire.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "policy/plan/plan.h"

namespace odyssey::wire {
namespace {

struct Sample {
  std::string name;
  std::string bytes;
  std::function<Status(std::string_view)> decode;
};

template <typename T>
Sample MakeSample(const std::string& name, const T& message) {
  return {name, Encode(message), [](std::string_view bytes) {
            T out;
            return Decode(bytes, &out);
          }};
}

std::vector<Sample> Samples() {
  return {
      MakeSample("Hello", Hello{"v1", true, 7, 8, {"/a", "/b"}, "/store", "/cells"}),
      MakeSample("Launch", Launch{1, "plan"}),
      MakeSample("Launched", Launched{1, PermissionDenied("no").OfItem(3), 7}),
      MakeSample("Kill", Kill{"cel_1", true}),
      MakeSample("Gone", Gone{"cel_1", NotFound("open /x").OfItem(3)}),
      MakeSample("Stats", Stats{1, "cel_1"}),
      MakeSample("StatsReply", StatsReply{1, true, {2, 3, 4, 5, 6}}),
  };
}

TEST(RootWireTest, ReadsBackWhatWasWritten) {
  Gone gone;
  ASSERT_TRUE(Decode(Encode(Gone{"cel_1", NotFound("open /x").OfItem(3)}), &gone).ok());
  EXPECT_EQ(gone.cell_id, "cel_1");
  EXPECT_EQ(gone.reason, NotFound("open /x"));
  EXPECT_EQ(gone.reason.detail().item, 3);

  Launched launched;
  ASSERT_TRUE(Decode(Encode(Launched{9, Status(Code::kAborted, "why"), 70}), &launched).ok());
  EXPECT_EQ(launched.request, 9u);
  EXPECT_EQ(launched.status, Status(Code::kAborted, "why"));
  EXPECT_EQ(launched.uid, 70u);

  Kill kill;
  ASSERT_TRUE(Decode(Encode(Kill{"cel_1", true}), &kill).ok());
  EXPECT_TRUE(kill.purge);

  StatsReply reply;
  ASSERT_TRUE(Decode(Encode(StatsReply{1, true, {2, 3, 4, 5, 6}}), &reply).ok());
  EXPECT_TRUE(reply.found);
  EXPECT_EQ(reply.usage.memory_bytes, 2u);
  EXPECT_EQ(reply.usage.cpu_usec, 3u);
  EXPECT_EQ(reply.usage.processes, 4u);
  EXPECT_EQ(reply.usage.oom_kills, 5u);
  EXPECT_EQ(reply.usage.pids_refused, 6u);

  Hello hello;
  ASSERT_TRUE(Decode(Samples()[0].bytes, &hello).ok());
  EXPECT_EQ(hello.own_directories, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(hello.cells_directory, "/cells");
}

TEST(RootWireTest, EveryMessageIsOfItsOwnTypeOnly) {
  const auto samples = Samples();
  for (const Sample& reader : samples) {
    for (const Sample& message : samples) {
      EXPECT_EQ(reader.decode(message.bytes).ok(), reader.name == message.name)
          << message.name << " read as " << reader.name;
    }
  }
}

TEST(RootWireTest, EveryTruncationAndEveryTrailingByteIsMalformed) {
  for (const Sample& sample : Samples()) {
    for (size_t length = 0; length < sample.bytes.size(); ++length) {
      EXPECT_FALSE(sample.decode(std::string_view(sample.bytes).substr(0, length)).ok())
          << sample.name << " cut to " << length;
    }
    EXPECT_EQ(sample.decode(sample.bytes + "x"),
              InvalidArgument("malformed message " + sample.name));
  }
}

TEST(RootWireTest, TypesOutsideTheTableAreUnknown) {
  EXPECT_FALSE(TypeOf("").ok());
  EXPECT_FALSE(TypeOf(std::string_view("\0", 1)).ok());
  EXPECT_EQ(TypeOf(EncodeReady()).value(), RootMessage::kReady);
  EXPECT_FALSE(TypeOf("\x09").ok());
  EXPECT_FALSE(TypeOf("\xff").ok());
}

TEST(RootWireTest, LongerFieldsThanAnyPlanHasAreMalformed) {
  Launch launch;
  EXPECT_TRUE(Decode(Encode(Launch{1, std::string(plan::kMaxPlanBytes, 'x')}), &launch).ok());
  EXPECT_FALSE(Decode(Encode(Launch{1, std::string(plan::kMaxPlanBytes + 1, 'x')}), &launch).ok());
  Kill kill;
  EXPECT_FALSE(Decode(Encode(Kill{std::string(plan::kMaxCellId + 1, 'x')}), &kill).ok());
  Hello hello;
  EXPECT_FALSE(
      Decode(Encode(Hello{.own_directories = std::vector<std::string>(17, "/a")}), &hello).ok());
}

TEST(RootWireTest, ACodeOutOfRangeIsMalformed) {
  std::string bytes = Encode(Gone{"c", Status(Code::kUnauthenticated, "")});
  const size_t at = bytes.find('\x10');
  ASSERT_NE(at, std::string::npos);
  bytes[at] = '\x11';
  Gone gone;
  EXPECT_FALSE(Decode(bytes, &gone).ok());
}

}  // namespace
}  // namespace odyssey::wire
