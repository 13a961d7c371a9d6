#include "common/rpc/peer_listener.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/os/unix_listener.h"
#include "common/rpc/peer_refusal.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::rpc {
namespace {

// What gRPC's server says first on a connection it was given: an HTTP/2 SETTINGS frame. A refused
// peer reads a GOAWAY, and the end.
constexpr char kSettings = 4;

class PeerListenerTest : public ::testing::Test {
 protected:
  PeerListenerTest() {
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
  }

  UniqueFd Listen() { return std::move(ListenUnix(path_, 0666)).value(); }

  // True if gRPC's first frame arrives.
  bool IsServed() const {
    const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      return false;
    }
    char head[4];  // the length and the type of a frame
    return read(fd.get(), head, sizeof(head)) == ssize_t{sizeof(head)} && head[3] == kSettings;
  }

  const fakes::TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/socket";
  grpc::CallbackGenericService service_;  // no call is made, but a server needs a service
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(PeerListenerTest, ServesThePeersItWasGiven) {
  const PeerListener listener(Listen(), server_.get(), {.uids = {getuid()}});
  EXPECT_TRUE(IsServed());
  EXPECT_TRUE(IsServed());
  EXPECT_EQ(listener.refused(), 0u);
}

TEST_F(PeerListenerTest, ServesMembersOfItsGroups) {
  PeerListener listener(Listen(), server_.get(), {.uids = {}, .groups = {getgid() + 1, getgid()}});
  EXPECT_TRUE(IsServed());
  listener.Allow({.uids = {getuid() + 1}, .groups = {getgid() + 1, getgid() + 2}});
  EXPECT_FALSE(IsServed());
  const std::string groups = std::to_string(getgid() + 1) + " and " + std::to_string(getgid() + 2);
  EXPECT_NE(AskWhetherRefused(path_).find(" and groups " + groups + ";"), std::string::npos);
}

TEST_F(PeerListenerTest, ClosesTheConnectionOfAnybodyElseUnserved) {
  const PeerListener listener(Listen(), server_.get(), {.uids = {getuid() + 1}});
  EXPECT_FALSE(IsServed());
  EXPECT_FALSE(IsServed());
  EXPECT_EQ(listener.refused(), 2u);
}

TEST_F(PeerListenerTest, SendsARefusedPeerTheUidsThatItServes) {
  const PeerListener listener(Listen(), server_.get(), {.uids = {getuid() + 1, getuid() + 2}});
  EXPECT_EQ(AskWhetherRefused(path_), "this socket serves uids " + std::to_string(getuid() + 1) +
                                          " and " + std::to_string(getuid() + 2) +
                                          "; the peer has uid " + std::to_string(getuid()));
}

TEST_F(PeerListenerTest, APeerThatIsServedWasNotRefused) {
  const PeerListener listener(Listen(), server_.get(), {.uids = {getuid()}});
  EXPECT_EQ(AskWhetherRefused(path_), "");
  EXPECT_EQ(AskWhetherRefused(path_ + "-missing"), "");
}

TEST_F(PeerListenerTest, StopsAcceptingWhenItGoes) {
  { const PeerListener listener(Listen(), server_.get(), {.uids = {getuid()}}); }
  EXPECT_FALSE(IsServed());
}

}  // namespace
}  // namespace odyssey::rpc
