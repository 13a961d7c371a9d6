// What a slot's pid 1 may send, one that was taken over too.

#include "supervisor/cell_init/own_pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>

#include "common/os/message_socket.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::cell_init {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kPipe = S_IFIFO | 0666;

class OwnPipesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(pipes_.Start().ok());
    for (const char* name : {"/open", "/shut"}) fs::create_directory(tree_ + name);
    auto confinement = Confinement::Build(
        {.rules = {{"/", cell::kRead}, {tree_ + "/open", cell::kRead | cell::kWrite}}});
    ASSERT_TRUE(confinement.ok()) << confinement.status().message();
    confinement_ = std::move(*confinement);
    channel_ = std::move(*MessageSocketPair());
  }
  // In a process of its own: what makes a pipe needs no_new_privs.
  static bool Holds(const std::function<bool()>& body) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
      _exit(body() ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status == 0;
  }

  void Serve() { pipes_.Serve(*confinement_, {tree_}); }
  // What is answered, if anything is.
  std::optional<int> Ask(std::string_view bytes, int from) {
    EXPECT_TRUE(SendMessage(pipes_.slot_end(), bytes, {from, channel_.second.get()}).ok());
    Serve();
    int answer = -1;
    const ssize_t n = recv(channel_.first.get(), &answer, sizeof(answer), MSG_DONTWAIT);
    return n == sizeof(answer) ? std::optional(answer) : std::nullopt;
  }
  std::optional<int> Ask(const PipeRequest& request) { return Ask(request.Encode(), Top().get()); }
  std::string Open(const std::string& name) const { return tree_ + "/open/" + name; }
  UniqueFd Top() const { return UniqueFd(open(Open("").c_str(), O_PATH | O_CLOEXEC)); }
  UniqueFd Place(const std::string& name) const {
    return UniqueFd(open(Open(name).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  }

  const fakes::TemporaryDirectory directory_;
  const std::string tree_ = directory_.path();
  OwnPipes pipes_;
  std::optional<Confinement> confinement_;
  std::pair<UniqueFd, UniqueFd> channel_;
};

TEST_F(OwnPipesTest, MakesThePipeAndKnowsItByEveryName) {
  EXPECT_TRUE(Holds([&] {
    if (Ask({kPipe, 022, "pipe"}) != 0) return false;
    struct stat info;
    stat(Open("pipe").c_str(), &info);
    fs::rename(Open("pipe"), Open("renamed"));
    return info.st_mode == (S_IFIFO | 0644U) && pipes_.Has(Place("renamed").get());
  }));
}

TEST_F(OwnPipesTest, KnowsNoOther) {
  EXPECT_TRUE(Holds([&] {
    if (Ask({kPipe, 0, "pipe"}) != 0) return false;
    unlink(Open("pipe").c_str());
    mkfifo(Open("pipe").c_str(), 0666);
    return !pipes_.Has(Place("pipe").get()) && Ask({kPipe, 0, "pipe"}) == EEXIST &&
           !pipes_.Has(Place("pipe").get());
  }));
}

TEST_F(OwnPipesTest, LeavesTheRestToTheKernel) {
  EXPECT_TRUE(Holds([&] {
    const std::string self = "/proc/self/cwd";
    return chdir(Open("").c_str()) == 0 && !Ask({kPipe, 0, "/tmp/odyssey-elsewhere"}) &&
           !Ask({kPipe, 0, "../../odyssey-elsewhere"}) && !Ask({kPipe, 0, "no/where"}) &&
           !Ask({kPipe, 0, self + "/pipe"}) && fs::is_empty(Open(""));
  }));
}

TEST_F(OwnPipesTest, MakesNoneWhereACommandMayNot) {
  EXPECT_TRUE(Holds([&] {
    return Ask({kPipe, 0, tree_ + "/shut/pipe"}) == EACCES && fs::is_empty(tree_ + "/shut");
  }));
}

// No more than the filter of a command allows without a listener.
TEST_F(OwnPipesTest, MakesNothingElse) {
  EXPECT_TRUE(Holds([&] {
    return Ask({S_IFCHR | 0666, 0, "device"}) == EPERM &&
           Ask({S_IFREG | 04777, 0, "set"}) == EPERM && Ask({S_IFIFO | 02666, 0, "set"}) == EPERM &&
           Ask({S_IFREG | 0666, 0, "file"}) == 0 && !pipes_.Has(Place("file").get()) &&
           !fs::exists(Open("set"));
  }));
}

TEST_F(OwnPipesTest, NonsenseIsNotAnsweredAndHoldsNobodyUp) {
  EXPECT_TRUE(Holds([&] {
    const std::string good = PipeRequest{kPipe, 0, "pipe"}.Encode();
    if (Ask("x", Top().get()) || Ask(good.substr(0, 8), Top().get())) return false;
    if (Ask(std::string(99, '\xff'), Top().get()) == 0) return false;
    if (Ask(good, channel_.first.get())) return false;  // no directory
    if (!SendMessage(pipes_.slot_end(), good, {}).ok()) return false;
    Serve();
    Serve();  // nobody has asked
    return fs::is_empty(Open(""));
  }));
}

TEST_F(OwnPipesTest, AnAnswerThatNobodyReadsHoldsNobodyUp) {
  EXPECT_TRUE(Holds([&] {
    auto full = MessageSocketPair();
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return false;
    while (send(full->second.get(), "x", 1, MSG_DONTWAIT) == 1) {
    }
    close(ends[0]);
    for (const auto& [name, end] : {std::pair("a", full->second.get()), {"b", ends[1]}}) {
      const std::string request = PipeRequest{kPipe, 0, name}.Encode();
      if (!SendMessage(pipes_.slot_end(), request, {Top().get(), end}).ok()) return false;
      Serve();
      if (!fs::exists(Open(name))) return false;
    }
    return true;
  }));
}

}  // namespace
}  // namespace odyssey::cell_init
