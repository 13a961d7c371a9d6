#include "supervisor/cell_guard/open_nodes.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <string.h>

namespace odyssey::cell_guard {
namespace {

constexpr uint64_t kUnique = 42;

template <typename Arguments>
struct Request {
  Request(uint32_t opcode, uint64_t node) {
    header.opcode = opcode;
    header.nodeid = node;
    header.unique = kUnique;
  }
  fuse_in_header header{};
  Arguments arguments{};
};

class OpenNodesTest : public ::testing::Test {
 protected:
  template <typename Arguments>
  void Begin(Request<Arguments>* request) {
    nodes_.Begin(request, sizeof(*request));
  }
  void Open(uint64_t node, int fd) {
    Request<fuse_open_in> request(FUSE_OPEN, node);
    Begin(&request);
    nodes_.Opened(fd);
  }
  void Create(uint64_t node, int fd, uint64_t unique = kUnique, int error = 0) {
    Request<fuse_create_in> request(FUSE_CREATE, FUSE_ROOT_ID);
    Begin(&request);
    nodes_.Opened(fd);
    fuse_entry_out entry{};
    entry.nodeid = node;
    Answer(unique, error, &entry, sizeof(entry));
  }
  void Answer(uint64_t unique, int error, void* rest, size_t bytes) {
    fuse_out_header header{};
    header.unique = unique;
    header.error = error;
    const iovec parts[] = {{&header, sizeof(header)}, {rest, bytes}};
    nodes_.Answer(parts, bytes == 0 ? 1 : 2);
  }
  // What is put into a request for attributes; -1: nothing.
  int Asked(uint64_t node) {
    Request<fuse_getattr_in> request(FUSE_GETATTR, node);
    Begin(&request);
    if ((request.arguments.getattr_flags & FUSE_GETATTR_FH) == 0) return -1;
    EXPECT_EQ(request.arguments.fh & kIfPathFails, kIfPathFails);
    return static_cast<int>(request.arguments.fh);
  }

  OpenNodes nodes_;
};

TEST_F(OpenNodesTest, GiveADescriptorOfTheNodeWhileItIsOpen) {
  EXPECT_EQ(Asked(7), -1);
  Open(7, 3);
  Open(8, 2000);
  EXPECT_EQ(Asked(7), 3);
  EXPECT_EQ(Asked(8), 2000);
  nodes_.Released(3);
  EXPECT_EQ(Asked(7), -1);
  Open(9, 3);  // the number is used again
  EXPECT_EQ(Asked(9), 3);
  EXPECT_EQ(Asked(7), -1);
  nodes_.Released(9999);
}

TEST_F(OpenNodesTest, LearnTheNodeOfWhatIsCreatedFromItsAnswer) {
  Create(7, 3);
  EXPECT_EQ(Asked(7), 3);
  Create(8, 4, kUnique + 1);
  EXPECT_EQ(Asked(8), -1) << "an answer to something else";
  Create(9, 5, kUnique, -ENOENT);
  EXPECT_EQ(Asked(9), -1);
  Answer(kUnique, 0, nullptr, 0);
}

TEST_F(OpenNodesTest, LeaveADescriptorThatTheKernelNames) {
  Open(7, 3);
  Request<fuse_getattr_in> get(FUSE_GETATTR, 7);
  get.arguments.getattr_flags = FUSE_GETATTR_FH;
  get.arguments.fh = 5;
  Begin(&get);
  EXPECT_EQ(get.arguments.fh, 5u);
  Request<fuse_setattr_in> set(FUSE_SETATTR, 7);
  set.arguments.valid = FATTR_MODE;
  Begin(&set);
  EXPECT_EQ(set.arguments.valid, static_cast<uint32_t>(FATTR_MODE | FATTR_FH));
  EXPECT_EQ(set.arguments.fh, kIfPathFails | 3);
  set.arguments = {};
  set.arguments.valid = FATTR_SIZE;
  Begin(&set);
  EXPECT_EQ(set.arguments.valid, static_cast<uint32_t>(FATTR_SIZE)) << "it may be for reading only";
}

TEST_F(OpenNodesTest, TellWhatHasBeenLinked) {
  Request<fuse_link_in> request(FUSE_LINK, FUSE_ROOT_ID);
  request.arguments.oldnodeid = 7;
  Begin(&request);
  EXPECT_EQ(nodes_.linked(), 0u);
  Answer(kUnique, -EPERM, nullptr, 0);
  EXPECT_EQ(nodes_.linked(), 0u);
  Answer(kUnique, 0, nullptr, 0);
  EXPECT_EQ(nodes_.linked(), 7u);
  EXPECT_EQ(Asked(7), -1);
  EXPECT_EQ(nodes_.linked(), 0u);
}

TEST_F(OpenNodesTest, HaveAFileReadAnewOnlyIfThatIsSaid) {
  for (const bool anew : {false, true}) {
    Open(7, 3);
    if (anew) nodes_.ReadAnew();
    fuse_open_out answer{};
    answer.open_flags = FOPEN_KEEP_CACHE | FOPEN_NOFLUSH;
    Answer(kUnique, 0, &answer, sizeof(answer));
    const uint32_t kept = anew ? 0 : FOPEN_KEEP_CACHE;
    EXPECT_EQ(answer.open_flags, kept | FOPEN_NOFLUSH);
  }
}

TEST_F(OpenNodesTest, TakeShortRequestsForWhatTheyAre) {
  Open(7, 3);
  Request<fuse_getattr_in> request(FUSE_GETATTR, 7);
  for (size_t bytes = 0; bytes < sizeof(request); ++bytes) {
    nodes_.Begin(&request, bytes);
    EXPECT_EQ(request.arguments.getattr_flags, 0u) << bytes;
  }
}

}  // namespace
}  // namespace odyssey::cell_guard
