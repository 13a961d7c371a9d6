#include "agentd/bundle/bundle_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "agentd/package/pack.h"
#include "common/oci/digest.h"
#include "policy/dialect/bundle_tree.h"
#include "tests/fakes/bundle_source.h"
#include "tests/fakes/fake_ids.h"

namespace odyssey::bundle {
namespace {

namespace fs = std::filesystem;

// Of the source as the version before trees digested it.
constexpr char kLegacyDigest[] = "f71e764cf7982c10095573dd3009d96b75a99610bffeeffdc1f6d7c7e4da5a51";
constexpr uid_t kSelf = 990;
constexpr uid_t kAnn = 1000;
constexpr uid_t kBob = 1001;

class BundleStoreTest : public ::testing::Test {
 protected:
  Result<Installation> Build(uid_t owner = 0, bool force = false) {
    InstallOptions options;
    options.owner = owner;
    options.force = force;
    return store_.Build(source_.path(), options);
  }
  void SetVersion(const std::string& version) {
    source_.Write("odyssey.bundle.json5",
                  "{id: 'demo', version: '" + version +
                      "', manifest_version: 'odyssey.bundle/v1',\n"
                      " readme: 'README.md', agent_spec: 'agent.yaml',\n"
                      " executor: {type: 'prebuilt', id: 'react'},\n"
                      " sandbox: {mode: 'read_only', system_tools_mode: 'standard'}}\n");
  }
  size_t Count(const std::string& below) {
    std::error_code none;
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(directory_.path() + below, none)) {
      count += entry.path().empty() ? 0 : 1;
    }
    return count;
  }
  void Collect(std::set<std::string> pinned = {}) {
    store_.CollectGarbage([&] { return pinned; });
  }

  fakes::TemporaryDirectory directory_;
  fakes::FakeIds ids_;
  fakes::BundleSource source_;
  BundleStore store_{directory_.path(), &ids_, kSelf};
};

TEST_F(BundleStoreTest, InstallsInTheContractsLayoutAndLeavesNothingBehind) {
  chmod((source_.Write("bin/run", "#!/bin/sh\n"), (source_.path() + "/bin/run").c_str()), 0755);
  const Result<Installation> installed = Build();
  ASSERT_TRUE(installed.ok()) << installed.status().message();
  EXPECT_EQ(installed->directory, directory_.path() + "/installs/local/demo/0.1.0");
  for (const char* name : {"agent.yaml", "README.md", "odyssey.bundle.json5", ".odyssey/index.json",
                           ".odyssey/oci-layout", ".odyssey/bundle.json"}) {
    EXPECT_TRUE(fs::exists(installed->directory + "/" + name)) << name;
  }
  struct stat info;
  ASSERT_EQ(stat((installed->directory + "/bin/run").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0755u);
  EXPECT_EQ(Count("/imports"), 0u);
  const auto opened = store_.OpenFor("demo", kAnn);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ((*opened)->directory, directory_.path() + "/trees/" + installed->pin.digest);
  EXPECT_FALSE(fs::exists((*opened)->directory + "/.odyssey")) << "cells are shown this directory";
  EXPECT_TRUE(fs::is_empty((*opened)->directory + "/" + dialect::kMountDirectory));
}

TEST_F(BundleStoreTest, ADirectoryIsKeptForSessionsAndNotInstalled) {
  const auto first = store_.OpenFor(source_.path(), kAnn);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_TRUE(store_.List(kAnn).empty());
  source_.Write("README.md", "# changed\n");
  const auto second = store_.OpenFor(source_.path(), kAnn);
  ASSERT_TRUE(second.ok());
  EXPECT_NE((*second)->pin.digest, (*first)->pin.digest);
  EXPECT_EQ((*store_.Open((*first)->pin))->spec.readme, "# demo\n");
}

TEST_F(BundleStoreTest, OpensAfterARestartAndNoticesTampering) {
  const BundlePin pin = (*store_.OpenFor(source_.path(), kAnn))->pin;
  EXPECT_TRUE(BundleStore(directory_.path(), &ids_, kSelf).Open(pin).ok());
  const std::string tree = directory_.path() + "/trees/" + pin.digest;
  std::ofstream(tree + "/README.md") << "# xxxx\n";
  EXPECT_EQ(BundleStore(directory_.path(), &ids_, kSelf).Open(pin).status().code(),
            Code::kDataLoss);
  std::ofstream(tree + "/README.md") << "# demo\n";
  EXPECT_TRUE(BundleStore(directory_.path(), &ids_, kSelf).Open(pin).ok());
  std::ofstream(tree + "/more") << "x";
  EXPECT_EQ(BundleStore(directory_.path(), &ids_, kSelf).Open(pin).status().code(),
            Code::kDataLoss);
}

TEST_F(BundleStoreTest, DamageIsNamedAndInstallingAgainReplacesIt) {
  const Installation installed = *Build();
  const std::string digest = installed.pin.digest;
  const std::string tree = directory_.path() + "/trees/" + digest;
  struct Case {
    std::string file, named;
  };
  for (const auto& [file, named] :
       {Case{directory_.path() + "/blobs/sha256/" + digest, tree}, Case{tree + "/README.md", tree},
        Case{installed.directory + "/.odyssey/bundle.json", installed.directory}}) {
    fs::remove(file);  // a hard link of others
    std::ofstream(file) << "xxxx";
    BundleStore store(directory_.path(), &ids_, kSelf);
    EXPECT_EQ(store.Open(installed.pin).status().code() == Code::kDataLoss, named == tree);
    EXPECT_EQ(store.damaged(), std::vector<std::string>{named}) << file;
    ASSERT_TRUE(store.Build(source_.path(), {.force = true}).ok());
    EXPECT_TRUE(store.damaged().empty()) << file;
    EXPECT_TRUE(BundleStore(directory_.path(), &ids_, kSelf).Open(installed.pin).ok()) << file;
  }
}

TEST_F(BundleStoreTest, OpensWhatAnEarlierVersionPinned) {
  const BundlePin pin = {"demo", "0.1.0", kLegacyDigest};
  const std::string copy = directory_.path() + "/demo/0.1.0-" + kLegacyDigest;
  fs::create_directories(directory_.path() + "/demo");
  fs::copy(source_.path(), copy, fs::copy_options::recursive);
  const std::string tree = directory_.path() + "/trees/" + kLegacyDigest;
  {
    BundleStore store(directory_.path(), &ids_, kSelf);
    EXPECT_EQ(Count("/demo"), 0u);
    const auto opened = store.Open(pin);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ((*opened)->directory, tree);
  }
  Collect({kLegacyDigest});
  std::ofstream(tree + "/README.md") << "# xxxx\n";
  EXPECT_EQ(store_.Open(pin).status().code(), Code::kDataLoss);
  Collect();
  EXPECT_EQ(Count("/trees"), 0u);
}

TEST_F(BundleStoreTest, ANamespaceThatLooksLikeACopyStays) {
  const std::string ns = "x-" + std::string(64, 'a');
  const auto staging = store_.NewStaging();
  ASSERT_TRUE(package::PackBundle(source_.path(), ns, (*staging)->layout()).ok());
  ASSERT_TRUE(store_.Install(**staging, {}).ok());
  EXPECT_EQ(BundleStore(directory_.path(), &ids_, kSelf).List(0).size(), 1u);
}

// A cell that outlived agentd may still show the tree.
TEST_F(BundleStoreTest, ATreeOfAnEarlierStartStaysWhereItIs) {
  const BundlePin pin = (*store_.OpenFor(source_.path(), kAnn))->pin;
  const std::string tree = directory_.path() + "/trees/" + pin.digest;
  struct stat before, after;
  ASSERT_EQ(stat(tree.c_str(), &before), 0);
  BundleStore again(directory_.path(), &ids_, kSelf);
  ASSERT_TRUE(again.OpenFor(source_.path(), kAnn).ok());
  ASSERT_EQ(stat(tree.c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);

  std::ofstream(tree + "/README.md") << "# xxxx\n";
  BundleStore repaired(directory_.path(), &ids_, kSelf);
  const auto opened = repaired.OpenFor(source_.path(), kAnn);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ((*opened)->spec.readme, "# demo\n") << "what was changed is replaced";
}

TEST_F(BundleStoreTest, RefusesWhatIsNoBundle) {
  InstallOptions options;
  EXPECT_EQ(store_.Build("demo", options).status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(store_.Build("/nonexistent/bundle", options).ok());
  source_.Write("odyssey.bundle.json5", "{");
  EXPECT_EQ(Build().status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Count("/installs"), 0u);
  EXPECT_EQ(Count("/imports"), 0u);
}

TEST_F(BundleStoreTest, RemovesStagingThatACrashLeft) {
  directory_.Write("imports/staging-1/x", "");
  const BundleStore store(directory_.path(), &ids_, kSelf);
  EXPECT_FALSE(fs::exists(directory_.path() + "/imports"));
}

TEST_F(BundleStoreTest, UnknownPinIsNotFound) {
  EXPECT_EQ(store_.Open({"demo", "1", std::string(64, '0')}).status().code(), Code::kNotFound);
}

// ODY-043
TEST_F(BundleStoreTest, ReplacesAnotherDigestOnlyByForce) {
  const BundlePin first = Build()->pin;
  EXPECT_EQ(Build()->pin, first) << "the same again";
  source_.Write("README.md", "# changed\n");
  const Status refused = Build().status();
  EXPECT_EQ(refused.code(), Code::kAlreadyExists);
  EXPECT_EQ(refused.detail().field, "bundle");
  EXPECT_EQ(store_.Find("demo", 0)->pin, first);
  const auto session = store_.Open(first);
  const Result<Installation> forced = Build(0, true);
  ASSERT_TRUE(forced.ok()) << forced.status().message();
  EXPECT_EQ(store_.Find("demo", 0)->pin, forced->pin);
  Collect({first.digest});
  EXPECT_TRUE(BundleStore(directory_.path(), &ids_, kSelf).Open(first).ok()) << "still pinned";
}

// ODY-039: a swap that fails leaves the old install.
TEST_F(BundleStoreTest, KeepsTheOldInstallIfTheNewOneFails) {
  const BundlePin first = Build()->pin;
  source_.Write("agent.yaml", "id: [");
  EXPECT_FALSE(Build(0, true).ok());
  EXPECT_EQ(store_.Find("demo", 0)->pin, first);
  EXPECT_TRUE(store_.OpenFor("demo", kAnn).ok());
}

// ODY-030
TEST_F(BundleStoreTest, ResolvesTheLatestVersion) {
  for (const char* version : {"0.2.0", "0.10.0", "1.0.0-rc.1", "1.0.0-rc.2"}) {
    SetVersion(version);
    ASSERT_TRUE(Build().ok());
  }
  EXPECT_EQ(store_.Find("demo", 0)->pin.version, "1.0.0-rc.2");
  SetVersion("1.0.0");
  ASSERT_TRUE(Build().ok());
  EXPECT_EQ(store_.Find("local/demo@latest", 0)->pin.version, "1.0.0");
  EXPECT_EQ(store_.Find("local/demo:0.10.0", 0)->pin.version, "0.10.0");
  const std::string digest = store_.Find("demo@0.2.0", 0)->pin.digest;
  EXPECT_EQ(store_.Find("sha256:" + digest, 0)->pin.version, "0.2.0");
  EXPECT_EQ(store_.Find("local/demo@sha256:" + digest, 0)->pin.version, "0.2.0");
  EXPECT_EQ(store_.Find("other/demo@sha256:" + digest, 0).status().code(), Code::kNotFound);
  std::vector<std::string> versions;
  for (const Installation& each : store_.List(0)) versions.push_back(each.pin.version);
  EXPECT_EQ(versions,
            (std::vector<std::string>{"0.2.0", "0.10.0", "1.0.0-rc.1", "1.0.0-rc.2", "1.0.0"}));
}

TEST_F(BundleStoreTest, ListsNothingWithoutMetadata) {
  const Result<Installation> installed = Build();
  fs::create_directories(directory_.path() + "/installs/local/other/1.0.0");
  EXPECT_EQ(store_.List(0).size(), 1u);
  fs::remove(installed->directory + "/.odyssey/bundle.json");
  EXPECT_TRUE(store_.List(0).empty());
}

TEST_F(BundleStoreTest, ShowsAUsersInstallsToItAndToRootAlone) {
  ASSERT_TRUE(Build(kAnn).ok());
  EXPECT_EQ(store_.List(kAnn).size(), 1u);
  EXPECT_EQ(store_.List(0).size(), 1u);
  EXPECT_TRUE(store_.List(kBob).empty());
  const std::string digest = store_.List(kAnn)[0].pin.digest;
  for (const std::string& reference : {std::string("demo"), "sha256:" + digest}) {
    EXPECT_EQ(store_.OpenFor(reference, kBob).status().code(), Code::kNotFound) << reference;
    EXPECT_EQ(store_.Remove(reference, kBob).status().code(), Code::kNotFound) << reference;
    EXPECT_TRUE(store_.OpenFor(reference, kAnn).ok()) << reference;
  }
  source_.Write("README.md", "# for all\n");
  ASSERT_TRUE(Build(kSelf).ok());
  EXPECT_EQ((*store_.OpenFor("demo", kBob))->spec.readme, "# for all\n");
  EXPECT_EQ((*store_.OpenFor("demo", kAnn))->spec.readme, "# demo\n") << "its own comes first";
  EXPECT_EQ(store_.List(kAnn).size(), 1u);
  EXPECT_EQ(store_.Remove("demo", kBob).status().code(), Code::kPermissionDenied);
}

TEST_F(BundleStoreTest, CollectsWhatNothingUses) {
  const BundlePin pin = Build()->pin;
  ASSERT_TRUE(store_.Remove("demo", 0).ok());
  EXPECT_EQ(Count("/installs"), 0u);
  EXPECT_EQ(Count("/imports"), 0u);
  Collect({pin.digest});
  EXPECT_TRUE(store_.Open(pin).ok());
  {
    const auto held = store_.Open(pin);
    Collect();
    EXPECT_EQ(Count("/trees"), 1u) << "held";
  }
  Collect();
  EXPECT_EQ(Count("/trees"), 0u);
  EXPECT_EQ(Count("/blobs/sha256"), 0u);
  EXPECT_EQ(store_.Open(pin).status().code(), Code::kNotFound);
}

TEST_F(BundleStoreTest, AnUploadIsForItsUserAndItsNextSession) {
  const auto staging = store_.NewStaging();
  ASSERT_TRUE(package::PackBundle(source_.path(), "local", (*staging)->layout()).ok());
  InstallOptions options;
  options.owner = kAnn;
  options.unlisted = true;
  const Result<Installation> kept = store_.Install(**staging, options);
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  const std::string reference = oci::DigestOf(kept->pin.digest);
  Collect();
  EXPECT_EQ(store_.OpenFor(reference, kBob).status().code(), Code::kNotFound);
  EXPECT_TRUE(store_.OpenFor(reference, kAnn).ok());
  EXPECT_EQ(store_.OpenFor(reference, kAnn).status().code(), Code::kNotFound);
}

TEST_F(BundleStoreTest, RefusesAnotherBundleThanWasAskedFor) {
  const auto staging = store_.NewStaging();
  ASSERT_TRUE(package::PackBundle(source_.path(), "team", (*staging)->layout()).ok());
  InstallOptions options;
  options.digest = std::string(64, '0');
  EXPECT_NE(store_.Install(**staging, options).status().message().find("expected sha256:000"),
            std::string::npos);
  options.digest.clear();
  options.ns = "other";
  EXPECT_EQ(store_.Install(**staging, options).status().message(),
            "invalid bundle: bundle namespace is team, expected other");
  EXPECT_TRUE(store_.List(0).empty());
}

TEST_F(BundleStoreTest, AnArchiveIsNoBundleToUse) {
  const std::string archive = directory_.path() + "/x.odyssey";
  std::ofstream(archive) << "ODYB1\n";
  EXPECT_NE(store_.OpenFor(archive, 0)
                .status()
                .message()
                .find("bundle archives must be imported before use"),
            std::string::npos);
}

}  // namespace
}  // namespace odyssey::bundle
