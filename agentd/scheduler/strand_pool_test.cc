#include "agentd/scheduler/strand_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>

namespace odyssey::scheduler {
namespace {

class FunctionJob final : public Job {
 public:
  explicit FunctionJob(std::function<Progress()> run) : run_(std::move(run)) {}
  Progress Run() override { return run_(); }

 private:
  const std::function<Progress()> run_;
};

std::shared_ptr<Job> MakeJob(std::function<Progress()> run) {
  return std::make_shared<FunctionJob>(std::move(run));
}

TEST(StrandPoolTest, JobsOfOneStrandKeepTheirOrderAndNeverOverlap) {
  StrandPool pool(4, 1000);
  std::atomic<int> inside = 0;
  std::atomic<bool> overlapped = false;
  std::vector<int> order;
  std::promise<void> done;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(pool.Post("s", MakeJob([&, i] {
                            overlapped = overlapped || ++inside != 1;
                            order.push_back(i);
                            --inside;
                            if (i == 99) done.set_value();
                            return Progress::kDone;
                          }))
                    .ok());
  }
  done.get_future().wait();
  EXPECT_FALSE(overlapped);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(StrandPoolTest, DifferentStrandsRunAtTheSameTime) {
  StrandPool pool(2, 1);
  std::promise<void> first, second, done_first, done_second;
  // Each waits for the other to have begun: with one at a time neither would end.
  ASSERT_TRUE(pool.Post("a", MakeJob([&] {
                          first.set_value();
                          second.get_future().wait();
                          done_first.set_value();
                          return Progress::kDone;
                        }))
                  .ok());
  ASSERT_TRUE(pool.Post("b", MakeJob([&] {
                          second.set_value();
                          first.get_future().wait();
                          done_second.set_value();
                          return Progress::kDone;
                        }))
                  .ok());
  done_first.get_future().wait();
  done_second.get_future().wait();
}

TEST(StrandPoolTest, ParkedJobsGiveTheirWorkerBack) {
  StrandPool pool(1, 1);
  std::atomic<int> runs = 0;
  std::promise<void> parked, resumed;
  const auto waits = MakeJob([&] {
    if (++runs == 1) {
      parked.set_value();
      return Progress::kParked;
    }
    resumed.set_value();
    return Progress::kDone;
  });
  ASSERT_TRUE(pool.Post("a", waits).ok());
  parked.get_future().wait();
  std::promise<void> other, behind;
  ASSERT_TRUE(pool.Post("b", MakeJob([&] {
                          other.set_value();
                          return Progress::kDone;
                        }))
                  .ok());
  other.get_future().wait();
  ASSERT_TRUE(pool.Post("a", MakeJob([&] {
                          EXPECT_EQ(runs, 2) << "the strand waits for its parked job";
                          behind.set_value();
                          return Progress::kDone;
                        }))
                  .ok());
  pool.Resume("a", waits.get());
  resumed.get_future().wait();
  behind.get_future().wait();
}

TEST(StrandPoolTest, ResumeBeforeParkingIsNotLost) {
  StrandPool pool(1, 1);
  std::promise<void> done;
  std::shared_ptr<Job> job;
  int runs = 0;
  job = MakeJob([&] {
    if (++runs == 2) {
      done.set_value();
      return Progress::kDone;
    }
    pool.Resume("a", job.get());
    return Progress::kParked;
  });
  ASSERT_TRUE(pool.Post("a", job).ok());
  done.get_future().wait();
}

TEST(StrandPoolTest, RefusesMoreThanTheBoundAndWithdrawsWaitingJobs) {
  StrandPool pool(1, 2);
  std::promise<void> release, begun;
  const auto running = MakeJob([&] {
    begun.set_value();
    release.get_future().wait();
    return Progress::kDone;
  });
  ASSERT_TRUE(pool.Post("a", running).ok());
  begun.get_future().wait();
  std::atomic<bool> ran = false;
  const auto waiting = MakeJob([&] {
    ran = true;
    return Progress::kDone;
  });
  std::promise<void> last;
  ASSERT_TRUE(pool.Post("a", waiting).ok());
  ASSERT_TRUE(pool.Post("a", MakeJob([&] {
                          last.set_value();
                          return Progress::kDone;
                        }))
                  .ok());
  const Status full = pool.Post("a", MakeJob([] { return Progress::kDone; }));
  EXPECT_EQ(full.code(), Code::kResourceExhausted);
  EXPECT_NE(full.message().find("2 turns"), std::string::npos) << full.message();

  EXPECT_FALSE(pool.Withdraw("a", running.get()));
  EXPECT_TRUE(pool.Withdraw("a", waiting.get()));
  EXPECT_FALSE(pool.Withdraw("a", waiting.get()));
  release.set_value();
  last.get_future().wait();
  EXPECT_FALSE(ran);
}

TEST(StrandPoolTest, BoundsWhatWaitsInAllStrandsAndWithdrawsTheFirstOfOne) {
  StrandPool pool(1, 9, 2);
  std::promise<void> release, begun, last;
  ASSERT_TRUE(pool.Post("a", MakeJob([&] {
                          begun.set_value();
                          release.get_future().wait();
                          return Progress::kDone;
                        }))
                  .ok());
  begun.get_future().wait();
  std::atomic<bool> ran = false;
  const auto first = MakeJob([&] {
    ran = true;
    return Progress::kDone;
  });
  ASSERT_TRUE(pool.Post("b", first).ok());
  ASSERT_TRUE(pool.Post("b", MakeJob([&] {
                          last.set_value();
                          return Progress::kDone;
                        }))
                  .ok());
  const auto nothing = [] { return Progress::kDone; };
  EXPECT_EQ(pool.Post("c", MakeJob(nothing)).code(), Code::kResourceExhausted);
  EXPECT_TRUE(pool.Withdraw("b", first.get())) << "no worker is free: it has not begun";
  EXPECT_FALSE(pool.Withdraw("b", first.get()));
  EXPECT_TRUE(pool.Post("c", MakeJob(nothing)).ok());
  EXPECT_EQ(pool.Post("d", MakeJob(nothing)).code(), Code::kResourceExhausted);
  EXPECT_TRUE(pool.Post("d", MakeJob(nothing), Admission::kAccepted).ok());
  release.set_value();
  last.get_future().wait();
  EXPECT_FALSE(ran);
}

TEST(StrandPoolTest, AFreeStrandsJobRunsOnTheCallersThread) {
  StrandPool pool(1, 10);
  std::promise<void> begun, go, waited;
  // The only worker is busy with another strand.
  ASSERT_TRUE(pool.Post("busy", MakeJob([&] {
                          begun.set_value();
                          go.get_future().wait();
                          return Progress::kDone;
                        }))
                  .ok());
  begun.get_future().wait();
  std::vector<std::string> order;
  EXPECT_TRUE(pool.RunIfFree("s", MakeJob([&] {
                               // What is posted meanwhile waits for it.
                               EXPECT_TRUE(pool.Post("s", MakeJob([&] {
                                                       order.push_back("posted");
                                                       waited.set_value();
                                                       return Progress::kDone;
                                                     }))
                                               .ok());
                               EXPECT_FALSE(pool.RunIfFree("s", MakeJob([] {
                                                             ADD_FAILURE() << "the strand has one";
                                                             return Progress::kDone;
                                                           })));
                               order.push_back("here");
                               return Progress::kDone;
                             })));
  go.set_value();
  waited.get_future().wait();
  EXPECT_EQ(order, (std::vector<std::string>{"here", "posted"}));
  pool.Stop();
  EXPECT_FALSE(pool.RunIfFree("s", MakeJob([] { return Progress::kDone; })));
}

TEST(StrandPoolTest, WithdrawsAllThatHasNotBegunAtOnce) {
  StrandPool pool(1, 10);
  std::promise<void> begun, go, last;
  std::atomic<int> ran = 0;
  ASSERT_TRUE(pool.Post("a", MakeJob([&] {
                          begun.set_value();
                          go.get_future().wait();
                          return Progress::kDone;
                        }))
                  .ok());
  begun.get_future().wait();
  for (const char* strand : {"a", "a", "b", "b"}) {
    ASSERT_TRUE(pool.Post(strand, MakeJob([&] {
                            ++ran;
                            return Progress::kDone;
                          }))
                    .ok());
  }
  EXPECT_EQ(pool.WithdrawAll("a").size(), 2u) << "not the one that runs";
  EXPECT_EQ(pool.WithdrawAll("b").size(), 2u);
  EXPECT_TRUE(pool.WithdrawAll("c").empty());
  ASSERT_TRUE(pool.Post("b", MakeJob([&] {
                          last.set_value();
                          return Progress::kDone;
                        }))
                  .ok());
  go.set_value();
  last.get_future().wait();
  EXPECT_EQ(ran, 0);
}

TEST(StrandPoolTest, StopDropsWhatWaitsAndRefusesMore) {
  StrandPool pool(1, 2);
  std::promise<void> parked;
  ASSERT_TRUE(pool.Post("a", MakeJob([&] {
                          parked.set_value();
                          return Progress::kParked;
                        }))
                  .ok());
  parked.get_future().wait();
  pool.Stop();
  EXPECT_EQ(pool.Post("a", MakeJob([] { return Progress::kDone; })).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace odyssey::scheduler
