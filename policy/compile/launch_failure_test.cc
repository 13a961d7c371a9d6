#include "policy/compile/launch_failure.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace odyssey::compile {
namespace {

constexpr uint32_t kOwner = 1000;

policy::SandboxRequest Request() {
  policy::SandboxRequest request;
  request.workspace = "/srv/project";
  request.executables = {"curl", "/srv/tools/run"};
  request.mounts = {{"/srv/d", "/data"}, {"/srv/d/e", "/in"}, {"/srv/\xc3\xa4", "/umlaut"}};
  return request;
}

TEST(LaunchFailureTest, NamesTheFieldWhosePathRootComplainsAbout) {
  const std::pair<const char*, const char*> cases[] = {
      {"open /srv/d: No such file or directory", "mounts[0].source: "},
      {"open /srv/d/e: No such file or directory", "mounts[1].source: "},
      {"/srv/d/e is or passes through a symbolic link; give the resolved path",
       "mounts[1].source: "},
      {"open /srv/??: No such file or directory", "mounts[2].source: "},
      {"mount /srv/project: its file system cannot be idmapped", "workspace: "},
      {"open /srv/tools/run: No such file or directory", "executables[1]: "},
      {"create mount point /in: File name too long", "mounts[1].target: "},
      {"/workspace/.git/hooks: a symbolic link cannot be protected", "workspace: /srv/project: "},
      {"/data/.envrc: a file with another name (a hard link)", "mounts[0].target: "},
      // Nothing of the request's.
      {"open /srv/dd: No such file or directory", ""},
      {"open /usr/lib: No such file or directory", ""},
      {"fork: Resource temporarily unavailable", ""},
  };
  for (const auto& [message, field] : cases) {
    EXPECT_EQ(NameField(Request(), kOwner, NotFound(message)),
              NotFound(std::string(field) + message));
  }
}

TEST(LaunchFailureTest, WhatIsShownUnderItsOwnNameIsTheSource) {
  policy::SandboxRequest request;
  request.mounts = {{"/srv/d", "/srv/d"}};
  EXPECT_EQ(
      NameField(request, kOwner, NotFound("open /srv/d: No such file or directory")).message(),
      "mounts[0].source: open /srv/d: No such file or directory");
  EXPECT_TRUE(NameField(request, kOwner, OkStatus()).ok());
}

TEST(LaunchFailureTest, WhatIsClosedToTheOwnerSaysToWhom) {
  const Status closed = {Code::kPermissionDenied, "open /srv/d: Permission denied"};
  EXPECT_EQ(
      NameField(Request(), kOwner, closed)
          .message()
          .rfind("mounts[0].source: open /srv/d: Permission denied to uid 1000; what he reaches",
                 0),
      0u);
  EXPECT_EQ(NameField(Request(), 0, closed).message(), "mounts[0].source: " + closed.message());
}

}  // namespace
}  // namespace odyssey::compile
