#include "policy/compile/image_root.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/compile/compile_fixture.h"

namespace odyssey::compile {
namespace {

using policy::ExecutablesMode;
using policy::SandboxRequest;

const FoundImage kImage = {.digest = "sha256:ab",
                           .layers = {"0a", "0b"},
                           .user = 33,
                           .group = 34,
                           .env = {"PATH=/opt/bin:/bin", "LANG=xx", "ODYSSEY_RUN=theirs", "A=b"}};

HostFacts TestFacts() {
  return {.system = {{"/usr", ""}, {"/etc/ssl", ""}}, .landlock = {landlock::Probe::kInForce, 6}};
}

SandboxRequest WithImage() { return {.image = {.reference = "debian:12"}}; }

Compiled MustCompile(const SandboxRequest& request, const FoundImage& image = kImage) {
  auto compiled = Compile(request, TestFacts(), {}, image);
  EXPECT_TRUE(compiled.ok()) << compiled.status().ToString();
  return compiled.ok() ? *compiled : Compiled();
}

Status Refusal(const SandboxRequest& request, HostFacts facts = TestFacts()) {
  return Compile(request, facts, {}, kImage).status();
}

uint8_t RightsAt(const Compiled& compiled, const std::string& path) {
  uint8_t rights = 0;
  for (const cell::LandlockRule& rule : compiled.confinement.rules) {
    if (rule.path == path) rights |= rule.rights;
  }
  return rights;
}

TEST(ImageRootTest, TheRootIsTheImageAndNothingOfTheHost) {
  const Compiled compiled = MustCompile(WithImage());
  const plan::Plan& plan = compiled.plan;
  EXPECT_EQ(plan.layers, kImage.layers);
  EXPECT_EQ(plan.ids, plan::Ids::kRange);
  EXPECT_EQ(plan.user, 33u);
  EXPECT_EQ(plan.group, 34u);
  EXPECT_FALSE(plan.build);
  for (const plan::Entry& entry : plan.entries) {
    EXPECT_NE(entry.kind, plan::EntryKind::kHostTree) << entry.target;
  }
  for (const char* own :
       {"/etc/hosts", "/etc/resolv.conf", "/etc/hostname", "/tmp", "/workspace"}) {
    EXPECT_TRUE(Find(compiled, own) != nullptr) << own;
  }
  for (const char* of_image : {"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/var/tmp"}) {
    EXPECT_EQ(Find(compiled, of_image), nullptr) << of_image;
  }
}

TEST(ImageRootTest, ProgramsOfTheImageAreReadOnlyUnlessEverythingMayBeExecuted) {
  const Compiled standard = MustCompile(WithImage());
  EXPECT_FALSE(standard.plan.root_executable);
  EXPECT_NE(Find(standard, "/usr"), nullptr);
  EXPECT_EQ(RightsAt(standard, "/"), cell::kRead | cell::kWrite);
  EXPECT_EQ(RightsAt(standard, "/usr"), cell::kRead | cell::kExecute | cell::kIfThere);

  SandboxRequest request = WithImage();
  request.executables_mode = ExecutablesMode::kAll;
  const Compiled all = MustCompile(request);
  EXPECT_TRUE(all.plan.root_executable);
  EXPECT_EQ(Find(all, "/usr"), nullptr);
  EXPECT_EQ(RightsAt(all, "/"), cell::kRead | cell::kWrite | cell::kExecute);
}

TEST(ImageRootTest, OnlyNamedProgramsOfTheImageWithExplicit) {
  SandboxRequest request = WithImage();
  request.executables_mode = ExecutablesMode::kExplicit;
  request.executables = {"git"};
  FoundImage image = kImage;
  EXPECT_EQ(Compile(request, TestFacts(), {}, image).status().code(), Code::kInternal)
      << "the store did not look for git";
  image.programs.files = {{"/usr/bin/git", true, "named git"},
                          {"/usr/lib/libz.so.1", false, "library of /usr/bin/git"}};
  const Compiled compiled = MustCompile(request, image);
  EXPECT_FALSE(compiled.plan.root_executable);
  EXPECT_TRUE(compiled.confinement.denies_write_exec);
  ASSERT_NE(Find(compiled, "/usr"), nullptr);
  EXPECT_FALSE(Find(compiled, "/usr")->executable);
  EXPECT_EQ(Find(compiled, "/usr")->access, plan::Access::kReadOnly);
  EXPECT_TRUE(Find(compiled, "/usr/bin/git")->executable);
  EXPECT_TRUE(Find(compiled, "/usr/lib/libz.so.1")->executable);
  EXPECT_EQ(RightsAt(compiled, "/usr"), 0);
  EXPECT_EQ(RightsAt(compiled, "/usr/bin/git"), cell::kRead | cell::kExecute | cell::kIfThere);
  EXPECT_EQ(RightsAt(compiled, "/usr/lib/libz.so.1"), 0) << "loaded, not executed";
  // The host's are no matter.
  const FoundExecutables host = {.files = {{"/usr/bin/host", true, "named host"}}};
  EXPECT_EQ(Compile(request, TestFacts(), host, image)->digest, compiled.digest);
}

TEST(ImageRootTest, VariablesOfTheImageHoldButForOdysseysOwn) {
  const std::vector<std::string> env = MustCompile(WithImage()).base_env;
  const auto has = [&](const char* variable) {
    return std::count(env.begin(), env.end(), variable) == 1;
  };
  EXPECT_TRUE(has("PATH=/opt/bin:/bin"));
  EXPECT_TRUE(has("LANG=xx"));
  EXPECT_TRUE(has("A=b"));
  EXPECT_TRUE(has("HOME=/cell/data/home"));
  EXPECT_TRUE(has("ODYSSEY_SANDBOX=1"));
  for (const std::string& variable : env) {
    EXPECT_NE(variable.rfind("USER=", 0), 0u) << "the image's user has a name of its own";
    EXPECT_NE(variable.rfind("ODYSSEY_RUN=", 0), 0u);
  }
}

TEST(ImageRootTest, AnotherImageIsAnotherPolicy) {
  FoundImage other = kImage;
  other.layers = {"0a", "0c"};
  EXPECT_NE(MustCompile(WithImage()).digest, MustCompile(WithImage(), other).digest);
}

TEST(ImageRootTest, WhatCannotBeIsRefusedByItsField) {
  SandboxRequest request = WithImage();
  request.user = 7;
  EXPECT_EQ(Refusal(request).detail().field, "user");

  request = {.image = {.user = "1"}};
  EXPECT_EQ(Refusal(request).detail().field, "image.reference");

  HostFacts rootless = TestFacts();
  rootless.enforcement.rootless_uid = 1000;
  EXPECT_EQ(Refusal(WithImage(), rootless).detail().field, "image");
}

TEST(ImageRootTest, ABuildWritesToNoDirectoryOfTheHost) {
  SandboxRequest request = WithImage();
  request.image.build = true;
  EXPECT_EQ(Refusal(request).detail().field, "image.build") << "of mode standard";
  request.executables_mode = ExecutablesMode::kAll;
  EXPECT_TRUE(MustCompile(request).plan.build);
  EXPECT_TRUE(MustCompile(request).confinement.build);

  request.workspace = "/srv/project";
  EXPECT_EQ(Refusal(request).detail().field, "image.build");
  request.mode = policy::Mode::kReadOnly;
  EXPECT_TRUE(MustCompile(request).plan.build);
  request.mounts = {{.source = "/srv/x", .target = "/x", .access = policy::Access::kReadWrite}};
  EXPECT_EQ(Refusal(request).detail().field, "image.build");
}

}  // namespace
}  // namespace odyssey::compile
