#include "policy/convert/sandbox_proto.h"

#include <gtest/gtest.h>

#include "policy/model/policy_keys.h"

namespace odyssey::policy {
namespace {

// Of each row another value.
Limits EveryLimit() {
  Limits limits;
  for (size_t i = 0; i < kLimitCount; ++i) kLimitKeys[i].set(&limits, i + 1);
  return limits;
}

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
          .limits = EveryLimit(),
          .protect = {".git/hooks"},
          .protection = Protection::kNone,
          .deny = {"**/.env"},
          .landlock = Landlock::kBestEffort,
          .user = 1234,
          .image = {.reference = "debian:12", .user = "www-data", .build = true}};
}

TEST(SandboxProtoTest, EveryFieldSurvives) {
  SandboxRequest back;
  ASSERT_TRUE(FromProto(ToProto(EverythingSet()), &back).ok());
  EXPECT_EQ(back, EverythingSet());
}

TEST(SandboxProtoTest, BudgetsOfEgressSurvive) {
  SandboxRequest request;
  request.network = Network::kEgress;
  request.egress.budget = {1, 2, 3, 4, 5};
  request.egress.rules = {{.key = "x",
                           .endpoints = {{.host = "api.example.com",
                                          .ports = {443},
                                          .budget = {6, 7, 8, 9, uint64_t{1} << 60}}}}};
  SandboxRequest back;
  ASSERT_TRUE(FromProto(ToProto(request), &back).ok());
  EXPECT_EQ(back.egress, request.egress);
}

TEST(SandboxProtoTest, LimitsThatNobodyAskedForAreCarried) {
  SandboxRequest request, back;
  request.limits.memory_bytes = request.unsaid_limits.memory_bytes = 512;
  ASSERT_TRUE(FromProto(ToProto(request), &back).ok());
  EXPECT_EQ(back, request);
}

TEST(SandboxProtoTest, PortsOfEgressAreSortedAndNone0) {
  SandboxRequest request;
  request.network = Network::kEgress;
  request.egress.rules = {
      {.key = "x", .endpoints = {{.host = "a.example.com", .ports = {8443, 80}}}}};
  SandboxRequest back;
  ASSERT_TRUE(FromProto(ToProto(request), &back).ok());
  EXPECT_EQ(back.egress.rules[0].endpoints[0].ports, (std::vector<uint16_t>{80, 8443}));
  request.egress.rules[0].endpoints[0].ports = {443, 0};
  EXPECT_EQ(FromProto(ToProto(request), &back).message(),
            "sandbox.egress.rules[0].endpoints[0].ports: 0 is every port, alone, of the host `**`");
}

TEST(SandboxProtoTest, PinsOfEgressSurvive) {
  SandboxRequest request;
  request.network = Network::kEgress;
  const std::string hash(64, 'a');
  request.egress.rules = {{.key = "x",
                           .endpoints = {{.host = "a.example.com", .ports = {443}}},
                           .binaries = {{.path = "/p", .sha256 = hash, .only_itself = true},
                                        {.path = "/q", .only_itself = true},
                                        {.path = "/**"}}}};
  v1::Sandbox message = ToProto(request);
  SandboxRequest back;
  ASSERT_TRUE(FromProto(message, &back).ok());
  EXPECT_EQ(back.egress, request.egress);

  v1::EgressBinary& pinned = *message.mutable_egress()->mutable_rules(0)->mutable_binaries(0);
  pinned.set_only_itself(false);  // a pin implies it
  SandboxRequest implied;
  ASSERT_TRUE(FromProto(message, &implied).ok());
  EXPECT_EQ(implied.egress, request.egress);
  for (const std::string& bad : {std::string("aa"), std::string(64, 'A'), std::string(64, '/')}) {
    pinned.set_sha256(bad);
    SandboxRequest refused;
    EXPECT_EQ(FromProto(message, &refused).message(),
              "sandbox.egress.rules[0].binaries[0].sha256: 64 hex digits in lower case are "
              "allowed");
  }
}

TEST(SandboxProtoTest, EachFieldOfLimitsIsARow) {
  const auto& fields = *v1::Limits::descriptor();
  ASSERT_EQ(static_cast<size_t>(fields.field_count()), kLimitCount);
  for (size_t i = 0; i < kLimitCount; ++i) {
    const auto& field = *fields.field(static_cast<int>(i));
    EXPECT_EQ(field.name(), kLimitKeys[i].name);
    EXPECT_EQ(field.cpp_type_name(), std::string(kLimitKeys[i].member.type)) << field.name();
  }
  v1::Limits limits;
  limits.set_open_files(7);
  limits.set_disk_bytes(uint64_t{1} << 40);
  SandboxRequest back;
  v1::Sandbox sandbox = ToProto(SandboxRequest{});
  *sandbox.mutable_limits() = limits;
  ASSERT_TRUE(FromProto(sandbox, &back).ok());
  EXPECT_EQ(back.limits, (Limits{.open_files = 7, .disk_bytes = uint64_t{1} << 40}));
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
