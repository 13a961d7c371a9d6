#include "ctl/changes/change_question.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <deque>
#include <filesystem>
#include <map>
#include <memory>

#include "odyssey/supervisor/v1/changes.grpc.pb.h"

namespace odyssey::ctl {
namespace {

namespace sup = ::odyssey::supervisor::v1;

// Changes as data: commits take them out of the list. The digest is of what is listed.
class FakeChanges final : public sup::Changes::Service {
 public:
  grpc::Status ListChanges(grpc::ServerContext*, const sup::ListChangesRequest* request,
                           grpc::ServerWriter<sup::ListChangesResponse>* writer) override {
    sup::ListChangesResponse response;
    sup::ListChangesEnd end;
    for (const sup::Change& change : changes) {
      if (!IsSelected(request->selections(), change)) continue;
      *response.mutable_change() = change;
      writer->Write(response);
      end.mutable_counts()->set_added(end.counts().added() + 1);
      if (!change.mark().empty()) end.mutable_counts()->set_marked(end.counts().marked() + 1);
    }
    end.set_digest(DigestOf(request->selections()));
    end.set_truncated(truncated);
    *response.mutable_end() = end;
    writer->Write(response);
    return grpc::Status::OK;
  }
  grpc::Status DiffChanges(grpc::ServerContext*, const sup::DiffChangesRequest* request,
                           grpc::ServerWriter<sup::DiffChangesResponse>* writer) override {
    sup::DiffChangesResponse response;
    response.set_text(diffs[request->selections(0).path()]);
    writer->Write(response);
    return grpc::Status::OK;
  }
  grpc::Status CommitChanges(grpc::ServerContext*, const sup::CommitChangesRequest* request,
                             sup::CommitChangesResponse* response) override {
    if (request->digest() != DigestOf(request->selections())) {
      return {grpc::StatusCode::ABORTED, "not what was looked at"};
    }
    std::vector<sup::Change> left;
    std::string took;
    for (const sup::Change& change : changes) {
      std::string hunks;
      bool marked = change.mark().empty();
      for (const auto& selection : request->selections()) {
        if (selection.path() != change.path()) continue;
        marked = marked || selection.marked();
        for (const uint32_t hunk : selection.hunks()) hunks += "#" + std::to_string(hunk);
      }
      const bool selected = IsSelected(request->selections(), change);
      if (!selected || !marked || !change.conflict().empty()) {
        left.push_back(change);
        if (!selected) continue;
        auto* refused = response->add_refused();
        refused->set_path(change.path());
        refused->set_reason(change.mark() + change.conflict());
        refused->set_marked(change.conflict().empty());
        continue;
      }
      took += change.path().substr(sizeof("/workspace/") - 1) + hunks + " ";
      response->set_committed(response->committed() + 1);
      response->set_commit(1);
    }
    committed.push_back(took);
    changes = left;
    return grpc::Status::OK;
  }
  grpc::Status DiscardChanges(grpc::ServerContext*, const sup::DiscardChangesRequest*,
                              sup::DiscardChangesResponse* response) override {
    response->set_discarded(static_cast<uint32_t>(changes.size()));
    changes.clear();
    return grpc::Status::OK;
  }

  void Add(const std::string& path, const std::string& mark = "") {
    sup::Change& change = changes.emplace_back();
    change.set_kind(sup::CHANGE_KIND_MODIFIED);
    change.set_new_mode(S_IFREG | 0644);
    change.set_path("/workspace/" + path);
    change.set_mark(mark);
    diffs["/workspace/" + path] = "@@ -1 +1 @@\n-old " + path + "\n+new " + path + "\n";
  }

  std::vector<sup::Change> changes;
  std::map<std::string, std::string> diffs;
  std::string version = "1";  // of the contents
  bool truncated = false;
  std::vector<std::string> committed;

 private:
  using Selected = google::protobuf::RepeatedPtrField<sup::ChangeSelection>;
  static bool IsSelected(const Selected& selections, const sup::Change& change) {
    for (const auto& selection : selections) {
      if (selection.path() == change.path()) return true;
    }
    return selections.empty();
  }
  std::string DigestOf(const Selected& selections) const {
    std::string out = version;
    for (const sup::Change& change : changes) {
      if (IsSelected(selections, change)) out += " " + change.path();
    }
    return out;
  }
};

class ChangeQuestionTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "change_question_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    base_ = name;
    locations_.supervisor_socket = base_ + "/sock";
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + base_ + "/sock", grpc::InsecureServerCredentials());
    builder.RegisterService(&fake_);
    server_ = builder.BuildAndStart();
    Failure failure;
    Result<ChangesClient> client = ChangesClient::Connect("mine", locations_, &failure);
    ASSERT_TRUE(client.ok()) << failure.why;
    client_ = std::make_unique<ChangesClient>(*std::move(client));
  }
  void TearDown() override {
    client_.reset();  // a server that ends waits for idle connections
    server_->Shutdown();
    std::filesystem::remove_all(base_);
  }

  // The answers are typed one after the other; then the input has ended.
  QuestionEnd Run(std::deque<std::string> answers) {
    shown_.clear();
    const auto show = [this](const std::string& text) { shown_ += text; };
    const auto ask = [&](const std::string& text) -> std::optional<std::string> {
      shown_ += text + "\n";
      if (on_ask) on_ask(text);
      if (answers.empty()) return std::nullopt;
      const std::string answer = answers.front();
      answers.pop_front();
      return answer;
    };
    const QuestionEnd end = ChangeQuestion(console_, *client_, ask, show).Run();
    EXPECT_TRUE(answers.empty()) << answers.front() << " was not asked for: " << shown_;
    return end;
  }
  bool Shows(const std::string& text) const { return shown_.find(text) != std::string::npos; }
  std::string Committed() const {
    std::string out;
    for (const std::string& one : fake_.committed) out += "[" + one + "]";
    return out;
  }

  const Console console_;
  Locations locations_;
  std::string base_;
  FakeChanges fake_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<ChangesClient> client_;
  std::function<void(const std::string&)> on_ask;
  std::string shown_;
};

TEST_F(ChangeQuestionTest, NothingIsAskedWithoutChanges) {
  EXPECT_EQ(Run({}), QuestionEnd::kNothing);
  EXPECT_EQ(shown_, "");
}

TEST_F(ChangeQuestionTest, CommitTakesWhatIsNotMarkedAndAsksAboutTheRest) {
  fake_.Add("a");
  fake_.Add(".envrc", "direnv runs it");
  fake_.Add(".git/hooks/x", "git runs it");
  EXPECT_EQ(Run({"c", "n", "y"}), QuestionEnd::kCommitted);
  EXPECT_EQ(Committed(), "[a .git/hooks/x ]");
  EXPECT_TRUE(Shows("  M  .envrc  MARKED: direnv runs it\n    @@ -1 +1 @@\n    -old .envrc\n"))
      << shown_;
  EXPECT_TRUE(Shows("committed 2; odyssey-ctl undo mine takes it back\n")) << shown_;
  EXPECT_TRUE(Shows("left: 1 added (1 marked)\n")) << shown_;
}

TEST_F(ChangeQuestionTest, DeclinedMarksAreNoFailures) {
  fake_.Add("a");
  fake_.Add(".envrc", "direnv runs it");
  testing::internal::CaptureStderr();
  EXPECT_EQ(Run({"c", "n"}), QuestionEnd::kCommitted);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(Committed(), "[a ]");
}

TEST_F(ChangeQuestionTest, ConflictsAreReportedAndStay) {
  fake_.Add("a");
  fake_.Add("b");
  fake_.changes[1].set_conflict("the host changed it meanwhile");
  testing::internal::CaptureStderr();
  EXPECT_EQ(Run({"c"}), QuestionEnd::kCommitted);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "odyssey-ctl: not done: b: the host changed it meanwhile\n");
}

TEST_F(ChangeQuestionTest, NothingIsCommittedOnceNobodyAnswers) {
  fake_.Add("a");
  fake_.Add(".envrc", "direnv runs it");
  EXPECT_EQ(Run({}), QuestionEnd::kKept);
  EXPECT_EQ(Run({"c"}), QuestionEnd::kKept);
  EXPECT_EQ(Run({"h", "y"}), QuestionEnd::kKept);
  EXPECT_EQ(Run({"?", "x", "", "k"}), QuestionEnd::kKept);
  EXPECT_EQ(Committed(), "");
  EXPECT_TRUE(Shows("kept\n  to see them: odyssey-ctl changes mine\n")) << shown_;
}

TEST_F(ChangeQuestionTest, ChoosesByFileAndHunk) {
  for (const char* path : {"a", "b", "c", "d"}) fake_.Add(path);
  fake_.diffs["/workspace/b"] =
      "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-1\n+one\n@@ -5 +5 @@\n-5\n+five\n@@ -9 +9 @@\n-9\n+nine\n";
  fake_.diffs["/workspace/c"] = fake_.diffs["/workspace/b"];
  EXPECT_EQ(Run({"h", "n", "n", "?", "a", "y", "d", "y"}), QuestionEnd::kCommitted);
  EXPECT_EQ(Committed(), "[b#2#3 c#1 d ]");
  EXPECT_TRUE(Shows("(2/3) take this hunk? [y,n,a,d,q,?] ")) << shown_;
}

TEST_F(ChangeQuestionTest, QuittingCommitsWhatWasChosen) {
  for (const char* path : {"a", "b", "c"}) fake_.Add(path);
  EXPECT_EQ(Run({"h", "y", "q"}), QuestionEnd::kCommitted);
  EXPECT_EQ(Committed(), "[a ]");
}

TEST_F(ChangeQuestionTest, ChoosingNothingAsksAgain) {
  fake_.Add("a");
  EXPECT_EQ(Run({"h", "n", "k"}), QuestionEnd::kKept);
  EXPECT_TRUE(Shows("nothing was taken\n"));
}

// What was shown is what is committed.
TEST_F(ChangeQuestionTest, WhatChangedSinceItWasShownIsShownAgain) {
  fake_.Add("a");
  fake_.Add("b", "git runs it");
  on_ask = [this](const std::string& text) {
    if (text.find("marked") != std::string::npos) fake_.version = "2";
  };
  EXPECT_EQ(Run({"c", "y", "k"}), QuestionEnd::kKept) << "by the digest of the whole list";
  EXPECT_EQ(Run({"c", "n"}), QuestionEnd::kCommitted);
  on_ask = [this](const std::string& text) {
    if (text.find("c commit") != std::string::npos) fake_.version += "+";
  };
  fake_.Add("c");
  fake_.changes.erase(fake_.changes.begin());
  EXPECT_EQ(Run({"c", "k"}), QuestionEnd::kKept) << "by the commit's own";
  EXPECT_TRUE(Shows("not what was shown any more")) << shown_;
  EXPECT_EQ(Committed(), "[a ]");
}

TEST_F(ChangeQuestionTest, DiscardsAfterASecondYes) {
  fake_.Add("a");
  EXPECT_EQ(Run({"d", "n", "k"}), QuestionEnd::kKept);
  EXPECT_EQ(fake_.changes.size(), 1u);
  EXPECT_EQ(Run({"d", "y"}), QuestionEnd::kDiscarded);
  EXPECT_TRUE(fake_.changes.empty());
}

TEST_F(ChangeQuestionTest, AListThatWasCutIsNotCommittedAsAWhole) {
  fake_.Add("a");
  fake_.truncated = true;
  EXPECT_EQ(Run({"c", "h", "k"}), QuestionEnd::kKept);
  EXPECT_TRUE(Shows("name a PATH to odyssey-ctl commit")) << shown_;
  EXPECT_EQ(Committed(), "");
}

TEST(SummaryTextTest, MarksAreNeverHiddenBehindPlainChanges) {
  ChangeSet set;
  for (size_t i = 0; i < kMostShown + 4; ++i) {
    sup::Change& change = set.changes.emplace_back();
    change.set_kind(sup::CHANGE_KIND_ADDED);
    change.set_path("/workspace/a");
  }
  set.changes.back().set_path("/workspace/z");
  set.changes.back().set_mark("git runs it");
  const std::string summary = SummaryText(set, "na me", false);
  EXPECT_NE(summary.find("\n  and 3 more: odyssey-ctl changes 'na me'\n"
                         "  A  z  MARKED: git runs it\n"),
            std::string::npos)
      << summary;
}

}  // namespace
}  // namespace odyssey::ctl
