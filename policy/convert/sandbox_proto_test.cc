#include "policy/convert/sandbox_proto.h"

#include <gtest/gtest.h>

namespace odyssey::policy {
namespace {

SandboxRequest EverythingSet() {
  return {.mode = Mode::kDangerFullAccess,
          .network = Network::kEgress,
          .executables_mode = ExecutablesMode::kExplicit,
          .executables = {"sh", "/opt/x"},
          .mounts = {{.source = "/a",
                      .target = "/b",
                      .access = Access::kReadWrite,
                      .executable = true,
                      .suffixes = {".md"},
                      .max_file_bytes = 7,
                      .identity = {8, 9}}},
          .env = {{"NAME", "value"}},
          .limits = {1, 2, 3, 4, 5, 6, 7, 8},
          .protect = {".git/hooks"},
          .protection = Protection::kNone,
          .deny = {"**/.env"},
          .landlock = Landlock::kBestEffort,
          .user = 1234};
}

TEST(SandboxProtoTest, EveryFieldSurvives) {
  SandboxRequest back;
  ASSERT_TRUE(FromProto(ToProto(EverythingSet()), &back).ok());
  EXPECT_EQ(back, EverythingSet());
}

TEST(SandboxProtoTest, AnIdentityThatIsNotSaidIsAbsent) {
  v1::Sandbox sandbox = ToProto(SandboxRequest{.mounts = {{.source = "/a", .target = "/b"}}});
  EXPECT_FALSE(sandbox.mounts(0).has_source_identity());
  const FileIdentity identity = {.device = uint64_t{1} << 40, .inode = ~uint64_t{0}};
  EXPECT_EQ(FromProto(ToProto(identity)), identity);
}

TEST(SandboxProtoTest, UnspecifiedIsTheStricterForLaterFieldsAndAnErrorForTheFirst) {
  v1::Sandbox sandbox = ToProto(SandboxRequest{});
  sandbox.clear_protection();
  sandbox.clear_landlock();
  SandboxRequest back;
  ASSERT_TRUE(FromProto(sandbox, &back).ok());
  EXPECT_EQ(back, SandboxRequest{});

  sandbox.clear_mode();
  EXPECT_EQ(FromProto(sandbox, &back),
            InvalidArgument("sandbox.mode 0: give MODE_READ_ONLY, MODE_WORKSPACE_WRITE or "
                            "MODE_DANGER_FULL_ACCESS"));
}

TEST(SandboxProtoTest, AnUnknownValueIsNamed) {
  v1::Sandbox sandbox = ToProto(SandboxRequest{});
  sandbox.set_landlock(static_cast<v1::Landlock>(9));
  SandboxRequest back;
  const Status status = FromProto(sandbox, &back);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("sandbox.landlock 9"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace odyssey::policy
