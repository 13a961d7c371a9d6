#include "supervisor/cell_init/refused_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace odyssey::cell_init {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(RefusedNamesTest, AreThoseAfterANumber) {
  RefusedNames names;
  EXPECT_THAT(names.After(0), IsEmpty());
  names.Add("a.example");
  const uint64_t before = names.last();
  names.Add("b.example");
  names.Add("b.example");
  EXPECT_THAT(names.After(before), ElementsAre("b.example"));
  names.Add("a.example");
  EXPECT_THAT(names.After(before), ElementsAre("a.example", "b.example")) << "asked for again";
  EXPECT_THAT(names.After(names.last()), IsEmpty());
}

TEST(RefusedNamesTest, TheOldestMakesRoom) {
  RefusedNames names;
  for (uint32_t i = 0; i <= cell::kMaxRefusedNames; ++i) names.Add(std::to_string(i));
  const auto all = names.After(0);
  EXPECT_THAT(all, SizeIs(cell::kMaxRefusedNames));
  EXPECT_EQ(std::count(all.begin(), all.end(), "0"), 0);
}

TEST(RefusedNamesTest, LongNamesAreCut) {
  RefusedNames names;
  names.Add(std::string(300, 'x'));
  EXPECT_THAT(names.After(0), ElementsAre(std::string(cell::kMaxDestinationBytes, 'x')));
}

TEST(RefusedNamesTest, ForkedProcessesSeeThem) {
  RefusedNames names;
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    (void)!read(pipe_ends[0], &byte, 1);
    _exit(names.After(0) == std::vector<std::string>{"late.example"} ? 0 : 1);
  }
  names.Add("late.example");
  EXPECT_EQ(write(pipe_ends[1], "x", 1), 1);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace odyssey::cell_init
