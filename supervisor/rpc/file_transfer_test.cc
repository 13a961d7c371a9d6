#include "supervisor/rpc/file_transfer.h"

#include <gtest/gtest.h>

#include <map>

namespace odyssey::supervisor {
namespace {

constexpr char kRun[] = "run_0000000000000001";

// A worker whose files are a map.
class FileTransferTest : public ::testing::Test {
 protected:
  Result<tool::Response> Answer(const tool::Request& request) {
    requests_.push_back(request);
    if (!failure_.ok() && request.op != tool::Op::kDiscard) return failure_;
    tool::Response response;
    const auto found = files_.find(request.path);
    switch (request.op) {
      case tool::Op::kCreate:
        if (found != files_.end()) return AlreadyExists(request.path + ": is there already");
        files_[request.path] = request.content;
        response.directories = 1;
        break;
      case tool::Op::kAppend:
        EXPECT_EQ(request.offset, found->second.size());
        found->second += request.content;
        break;
      case tool::Op::kDiscard:
        files_.erase(request.path);
        break;
      case tool::Op::kFetch:
        if (found == files_.end()) return NotFound("open: No such file or directory");
        response.content = found->second.substr(request.offset, request.max_bytes);
        response.total_bytes = found->second.size() + claimed_[request.path];
        break;
      default:
        response.entries = tree_;
        response.truncated = tree_truncated_;
    }
    return response;
  }
  AskWorker Ask() {
    return [this](const tool::Request& request) { return Answer(request); };
  }
  // "path size mode: bytes" or "path skipped: why" of each file.
  std::vector<std::string> Collected() {
    std::vector<std::string> out;
    const CollectSink sink{
        .file =
            [&](const CollectedFile& file) {
              out.push_back(file.path + (file.skipped.empty()
                                             ? " " + std::to_string(file.size) + ": "
                                             : " skipped: " + file.skipped));
              return true;
            },
        .data =
            [&](std::string data) {
              EXPECT_LE(data.size(), kMaxTransferPiece);
              out.back() += data.size() > 100 ? "…" : data;
              received_ += data.size();
              return true;
            }};
    EXPECT_TRUE(Collect(Ask(), Out(), sink).ok());
    return out;
  }
  static std::string In() { return std::string(kRun) + "/inbox"; }
  static std::string In(const std::string& name) { return In() + "/" + name; }
  static std::string Out() { return std::string(kRun) + "/outbox"; }
  static std::string Out(const std::string& name) { return Out() + "/" + name; }

  std::map<std::string, std::string> files_;
  std::vector<tool::ListEntry> tree_;
  bool tree_truncated_ = false;
  std::map<std::string, uint64_t> claimed_;  // more bytes than a file has
  Status failure_;
  std::vector<tool::Request> requests_;
  uint64_t received_ = 0;
};

TEST_F(FileTransferTest, PutsSmallFilesInOneRequestEach) {
  Injection injection(Ask(), In());
  ASSERT_TRUE(injection.BeginFile("a", 0).ok());
  ASSERT_TRUE(injection.Add("one").ok());
  ASSERT_TRUE(injection.BeginFile("d/empty", 0400).ok());
  ASSERT_TRUE(injection.Finish().ok());
  EXPECT_EQ(files_, (std::map<std::string, std::string>{{In("a"), "one"}, {In("d/empty"), ""}}));
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_EQ(requests_[0].mode, 0644u);
  EXPECT_EQ(requests_[1].mode, 0400u);
  EXPECT_EQ(injection.files(), 2u);
  EXPECT_EQ(injection.bytes(), 3u);
}

TEST_F(FileTransferTest, PutsALargeFilePieceByPieceAndSetsItsModeAtLast) {
  Injection injection(Ask(), In());
  ASSERT_TRUE(injection.BeginFile("f", 0444).ok());
  for (const char* piece : {"one ", "two ", "three"}) ASSERT_TRUE(injection.Add(piece).ok());
  ASSERT_TRUE(injection.Finish().ok());
  EXPECT_EQ(files_[In("f")], "one two three");
  ASSERT_EQ(requests_.size(), 3u);
  EXPECT_EQ(requests_[0].mode, 0600u);
  EXPECT_EQ(requests_[2].mode, 0444u);
}

TEST_F(FileTransferTest, ACollisionLeavesNothingOfTheCall) {
  files_[In("there")] = "before";
  {
    Injection injection(Ask(), In());
    ASSERT_TRUE(injection.BeginFile("new/f", 0).ok());
    ASSERT_TRUE(injection.Add("x").ok());
    ASSERT_TRUE(injection.BeginFile("there", 0).ok());
    EXPECT_EQ(injection.Finish().code(), Code::kAlreadyExists);
  }
  EXPECT_EQ(files_, (std::map<std::string, std::string>{{In("there"), "before"}}));
  EXPECT_EQ(requests_.back().op, tool::Op::kDiscard);
  EXPECT_EQ(requests_.back().directories, 1u);
}

TEST_F(FileTransferTest, ReplacesOnlyIfItIsAskedTo) {
  Injection injection(Ask(), "/workspace/d", Existing::kReplace);
  ASSERT_TRUE(injection.BeginFile("f", 0).ok());
  for (const char* piece : {"one ", "two"}) ASSERT_TRUE(injection.Add(piece).ok());
  ASSERT_TRUE(injection.Finish().ok());
  EXPECT_EQ(files_["/workspace/d/f"], "one two");
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_TRUE(requests_[0].replace_all);
  EXPECT_FALSE(requests_[1].replace_all);
}

TEST_F(FileTransferTest, FindsAPlaceInTheCell) {
  const auto place = [](const std::string& path) {
    const Result<std::string> found = PlaceInCell("path", path, "/workspace");
    return found.ok() ? *found : "refused";
  };
  EXPECT_EQ(place("a/b"), "/workspace/a/b");
  EXPECT_EQ(place("."), "/workspace");
  EXPECT_EQ(place("/tmp//./x/"), "/tmp/x");
  for (const char* path : {"..", "a/../b", "/tmp/..", "/", "//."})
    EXPECT_EQ(place(path), "refused");
  EXPECT_EQ(place(std::string("a\0b", 3)), "refused");
}

TEST_F(FileTransferTest, CollectsOneFileByItsName) {
  files_[Out()] = "content";
  tree_ = {{.name = "outbox", .path = "", .type = "file", .size = 7, .mode = 0755}};
  EXPECT_EQ(Collected(), (std::vector<std::string>{"outbox 7: content"}));
}

TEST_F(FileTransferTest, ACallThatDoesNotFinishLeavesNothing) {
  {
    Injection injection(Ask(), In());
    ASSERT_TRUE(injection.BeginFile("a", 0).ok());
    ASSERT_TRUE(injection.BeginFile("b", 0).ok());
  }
  EXPECT_TRUE(files_.empty());
}

TEST_F(FileTransferTest, AFullDiskInTheMiddleLeavesNothing) {
  {
    Injection injection(Ask(), In());
    ASSERT_TRUE(injection.BeginFile("f", 0).ok());
    ASSERT_TRUE(injection.Add("one").ok());
    ASSERT_TRUE(injection.Add("two").ok());
    failure_ = ResourceExhausted("No space left on device");
    EXPECT_EQ(injection.Finish(), failure_);
  }
  EXPECT_TRUE(files_.empty());
}

TEST_F(FileTransferTest, RefusesPathsThatAreNotBelowTheInbox) {
  Injection injection(Ask(), In());
  for (const std::string& path :
       {std::string(), std::string("/etc/passwd"), std::string(".."), std::string("../outbox/f"),
        std::string("a/../../f"), std::string("a//b"), std::string("a/"), std::string("./a"),
        std::string("a\0b", 3), std::string(300, 'n'), std::string(5000, 'n'),
        std::string(4000, 'd')}) {
    const Status status = injection.BeginFile(path, 0);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << path;
    EXPECT_NE(status.message().find("file.path"), std::string::npos);
  }
  EXPECT_EQ(injection.BeginFile("f", 04755),
            InvalidArgument("file.mode 04755: only permission bits, 0 to 0777, are allowed"));
  EXPECT_TRUE(requests_.empty());
}

TEST_F(FileTransferTest, BoundsWhatOneCallBrings) {
  Injection injection(Ask(), In());
  EXPECT_EQ(injection.Add("x").code(), Code::kInvalidArgument) << "no file yet";
  ASSERT_TRUE(injection.BeginFile("f", 0).ok());
  EXPECT_EQ(injection.Add(std::string(kMaxTransferPiece + 1, 'x')).code(), Code::kInvalidArgument);
  for (size_t i = 1; i < kMaxInjectedFiles; ++i) {
    ASSERT_TRUE(injection.BeginFile("f" + std::to_string(i), 0).ok());
  }
  EXPECT_TRUE(injection.BeginFile("one/more", 0).code() == Code::kResourceExhausted);
}

TEST_F(FileTransferTest, CollectsFilesAndSaysWhatItSkips) {
  files_[Out("a")] = "text";
  files_[Out("d/empty")] = "";
  tree_ = {{.path = "a", .type = "file"},
           {.path = "d/empty", .type = "file"},
           {.path = "d/gone", .type = "file"},
           {.path = "link", .type = "symbolic link"}};
  EXPECT_EQ(Collected(),
            (std::vector<std::string>{
                "a 4: text", "d/empty 0: ", "d/gone skipped: open: No such file or directory",
                "link skipped: symbolic link"}));
}

TEST_F(FileTransferTest, CollectsNoMoreThanOneGibibyteWhateverFilesClaim) {
  for (const char* name : {"a", "b", "c", "d"}) {
    tree_.push_back({.path = name, .type = "file", .size = 1});
    files_[Out(name)] = "x";
  }
  claimed_[Out("b")] = uint64_t{1} << 40;
  claimed_[Out("c")] = (uint64_t{1} << 30) - 2;  // all that is left
  const std::string too_many = "skipped: with it there were more than 1073741824 bytes";
  EXPECT_EQ(Collected(), (std::vector<std::string>{"a 1: x", "b " + too_many, "c 1073741823: x",
                                                   "d " + too_many}));
}

TEST_F(FileTransferTest, CollectsLargeFilesInPieces) {
  files_[Out("f")] = std::string(3 * kMaxTransferPiece + 5, 'x');
  tree_ = {{.path = "f", .type = "file"}};
  Collected();
  EXPECT_EQ(received_, 3 * kMaxTransferPiece + 5);
}

// The worker runs in the cell: nothing that it says is a path, a text or an end of its own.
TEST_F(FileTransferTest, BelievesNoNameOfTheWorker) {
  tree_ = {{.path = "../../etc/passwd", .type = "file"},
           {.path = "/abs", .type = "file"},
           {.path = "\xFF", .type = "\xFF"}};
  EXPECT_EQ(Collected(), (std::vector<std::string>{"../../etc/passwd skipped: its name is none",
                                                   "/abs skipped: its name is none",
                                                   "\xEF\xBF\xBD skipped: \xEF\xBF\xBD"}));
  EXPECT_EQ(requests_.size(), 1u);
}

TEST_F(FileTransferTest, SaysThatThereIsMore) {
  tree_truncated_ = true;
  EXPECT_EQ(Collected().size(), 1u);
}

TEST_F(FileTransferTest, StopsWhenNobodyListens) {
  files_[Out("f")] = std::string(3 * kMaxTransferPiece, 'x');
  tree_ = {{.path = "f", .type = "file"}};
  const CollectSink sink{.file = [](const CollectedFile&) { return true; },
                         .data = [](const std::string&) { return false; }};
  EXPECT_EQ(Collect(Ask(), Out(), sink).code(), Code::kCancelled);
  EXPECT_EQ(requests_.size(), 2u);
}

}  // namespace
}  // namespace odyssey::supervisor
