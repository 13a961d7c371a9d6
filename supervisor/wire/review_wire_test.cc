#include "supervisor/wire/review_wire.h"

#include <gtest/gtest.h>

namespace odyssey::review {
namespace {

Request SampleRequest() {
  return {.op = Op::kCommit,
          .selections = {{.directory = 1, .path = "a/b", .marked = true, .hunks = {1, 3}}, {}},
          .expected = "digest",
          .max_bytes = 7,
          .max_changes = 8,
          .commits = 9};
}

Item SampleItem() {
  return {.kind = ItemKind::kRefused,
          .change = {.directory = 2,
                     .path = "p",
                     .kind = ChangeKind::kRenamed,
                     .from = "f",
                     .old_mode = 0100644,
                     .new_mode = 0100755,
                     .old_size = 1,
                     .new_size = 2,
                     .binary = true,
                     .mark = "m",
                     .conflict = "c"},
          .text = "t",
          .number = 3,
          .time = -4,
          .count = 5};
}

End SampleEnd() {
  return {.code = Code::kAborted,
          .error = "e",
          .digest = "d",
          .counts = {1, 2, 3, 4, 5, 6, 7},
          .truncated = true,
          .unfinished = true,
          .stale = 8,
          .commit = 9,
          .done = 10,
          .commits = 11};
}

TEST(ReviewWireTest, DecodesWhatItEncodes) {
  const review::Setup setup = {
      .directories = 3, .write_host = true, .write_upper = false, .fork = true};
  review::Setup setup_again;
  ASSERT_TRUE(Decode(Encode(setup), &setup_again).ok());
  EXPECT_EQ(setup_again, setup);
  Request request;
  ASSERT_TRUE(Decode(Encode(SampleRequest()), &request).ok());
  EXPECT_EQ(request, SampleRequest());

  bool ended = true;
  Item item;
  End end;
  ASSERT_TRUE(Decode(Encode(SampleItem()), &ended, &item, &end).ok());
  EXPECT_FALSE(ended);
  EXPECT_EQ(item, SampleItem());
  ASSERT_TRUE(Decode(Encode(SampleEnd()), &ended, &item, &end).ok());
  EXPECT_TRUE(ended);
  EXPECT_EQ(end, SampleEnd());
}

TEST(ReviewWireTest, RefusesEveryTruncationAndTrailingBytes) {
  const std::string request = Encode(SampleRequest());
  for (size_t size = 0; size < request.size(); ++size) {
    Request cut;
    EXPECT_FALSE(Decode(request.substr(0, size), &cut).ok()) << size;
  }
  Request more;
  EXPECT_FALSE(Decode(request + "x", &more).ok());
  const std::string answer = Encode(SampleEnd());
  for (size_t size = 0; size < answer.size(); ++size) {
    bool ended = false;
    Item item;
    End end;
    EXPECT_FALSE(Decode(answer.substr(0, size), &ended, &item, &end).ok()) << size;
  }
}

}  // namespace
}  // namespace odyssey::review
