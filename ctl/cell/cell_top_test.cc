#include "ctl/cell/cell_top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace odyssey::ctl {
namespace {

using std::chrono::milliseconds;
using supervisor::v1::CellInfo;
using ::testing::ElementsAre;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

constexpr size_t kAnyWidth = std::numeric_limits<size_t>::max();

class CellTopTest : public ::testing::Test {
 protected:
  CellTopTest() {
    Add("cel_0123456789abcdef", "ses_1", "");
    Add("cel_00000000000000ff", "", "build");
  }

  void Add(const std::string& id, const std::string& session, const std::string& component) {
    CellInfo* cell = before_.cells.add_cells();
    cell->set_cell_id(id);
    cell->mutable_key()->set_session_id(session);
    cell->mutable_key()->set_agent_id("ctl");
    cell->mutable_key()->set_kind("command");
    cell->mutable_key()->set_component(component);
    cell->mutable_standing()->set_phase(supervisor::v1::CELL_PHASE_READY);
    now_ = before_;
    now_.at += milliseconds(500);
  }
  CellInfo* Session() { return now_.cells.mutable_cells(0); }
  CellInfo* Build() { return now_.cells.mutable_cells(1); }

  std::vector<std::string> Lines(TopOrder order = TopOrder::kCpu, size_t columns = kAnyWidth) {
    return TopLines(before_, now_, order, columns, /*color=*/false);
  }

  CellSample before_, now_;
};

TEST_F(CellTopTest, ShowsWhatACellUsesAndRuns) {
  Build()->set_cpu_usec(750'000);
  Build()->set_memory_bytes(340 << 20);
  Build()->set_processes(7);
  Build()->set_running_execs(3);
  Build()->mutable_standing()->set_phase(supervisor::v1::CELL_PHASE_RUNNING);
  EXPECT_THAT(
      Lines(),
      ElementsAre("CELL                  PHASE    CPU   MEM   PIDS  EXECS  KEY",
                  "build                 running  150%  340M  7     3      -/ctl/command/build",
                  "cel_0123456789abcdef  ready    0%    0B    0     0      ses_1/ctl/command/"));
  EXPECT_EQ(TopSummary(before_, now_), "2 cells, 1 running   cpu 150%   memory 340M   7 pids");
}

TEST_F(CellTopTest, SortsByEachKey) {
  Build()->set_cpu_usec(10);
  Session()->set_memory_bytes(10);
  Build()->set_processes(10);
  const auto first = [this](TopOrder order) { return Lines(order)[1].substr(0, 5); };
  EXPECT_EQ(first(TopOrder::kCpu), "build");
  EXPECT_EQ(first(TopOrder::kMemory), "cel_0");
  EXPECT_EQ(first(TopOrder::kPids), "build");
  EXPECT_EQ(first(TopOrder::kName), "build");
}

TEST_F(CellTopTest, ACellThatWasNotThereHasNoPercent) {
  before_.cells.mutable_cells()->RemoveLast();
  Build()->set_cpu_usec(1'000'000'000);
  EXPECT_THAT(Lines(TopOrder::kName)[1], StartsWith("build                 ready  -  "));
}

TEST_F(CellTopTest, ALineFitsAndActsOnNoTerminal) {
  Build()->mutable_key()->set_component("\x1b]0;evil\x07 " + std::string(200, 'x'));
  for (const std::string& line : Lines(TopOrder::kName, 80)) {
    EXPECT_EQ(line.find('\x1b'), line.npos) << line;
    size_t characters = 0;
    for (const char c : line) characters += (c & 0xc0) != 0x80 ? 1 : 0;
    EXPECT_LE(characters, 80u) << line;
  }
  EXPECT_THAT(Lines(TopOrder::kName)[1], StartsWith("\\e]0;evil\\x07 xxx"));
}

TEST_F(CellTopTest, ColourIsOfLines) {
  const auto lines = TopLines(before_, now_, TopOrder::kName, 80, /*color=*/true);
  EXPECT_THAT(lines[0], MatchesRegex("\x1b\\[1mCELL .*\x1b\\[0m"));
  EXPECT_THAT(lines[1], StartsWith("\x1b[2mbuild"));
}

}  // namespace
}  // namespace odyssey::ctl
