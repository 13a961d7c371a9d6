#include "agentd/bundle/bundle_store.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "agentd/bundle/bundle_tree.h"
#include "policy/dialect/bundle_tree.h"
#include "tests/fakes/bundle_source.h"
#include "tests/fakes/fake_ids.h"

namespace odyssey::bundle {
namespace {

using Installed = Result<std::shared_ptr<const InstalledBundle>>;

class BundleStoreTest : public ::testing::Test {
 protected:
  fakes::TemporaryDirectory directory_;
  fakes::FakeIds ids_;
  fakes::BundleSource source_;
};

TEST_F(BundleStoreTest, InstallsACopyThatTheSourceNoLongerChanges) {
  BundleStore store(directory_.path(), &ids_);
  Installed first = store.Install(source_.path());
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_EQ((*first)->spec.id, "demo");
  EXPECT_EQ((*first)->directory, directory_.path() + "/demo/0.1.0-" + (*first)->pin.digest);
  EXPECT_TRUE(std::filesystem::is_empty((*first)->directory + "/" + dialect::kMountDirectory));

  source_.Write("README.md", "# changed\n");
  Installed second = store.Install(source_.path());
  ASSERT_TRUE(second.ok());
  EXPECT_NE((*second)->pin.digest, (*first)->pin.digest);
  EXPECT_EQ((*first)->spec.readme, "# demo\n");
  EXPECT_EQ((*store.Open((*first)->pin))->spec.readme, "# demo\n");
}

TEST_F(BundleStoreTest, InstallsTheSameContentOnceAndLeavesNothingBehind) {
  BundleStore store(directory_.path(), &ids_);
  EXPECT_EQ((*store.Install(source_.path()))->pin, (*store.Install(source_.path()))->pin);
  size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    EXPECT_EQ(entry.path().filename(), "demo");
    ++entries;
  }
  EXPECT_EQ(entries, 1u);
}

TEST_F(BundleStoreTest, OpensAfterARestartAndNoticesTampering) {
  const BundlePin pin = (*BundleStore(directory_.path(), &ids_).Install(source_.path()))->pin;
  EXPECT_TRUE(BundleStore(directory_.path(), &ids_).Open(pin).ok());
  std::ofstream(directory_.path() + "/demo/0.1.0-" + pin.digest + "/README.md") << "x";
  EXPECT_EQ(BundleStore(directory_.path(), &ids_).Open(pin).status().code(), Code::kDataLoss);
}

TEST_F(BundleStoreTest, RefusesWhatIsNoBundle) {
  BundleStore store(directory_.path(), &ids_);
  EXPECT_EQ(store.Install("demo").status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(store.Install("/nonexistent/bundle").ok());
  source_.Write("odyssey.bundle.json5", "{");
  EXPECT_EQ(store.Install(source_.path()).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(BundleStoreTest, RemovesStagingThatACrashLeft) {
  directory_.Write(".staging_1/x", "");
  BundleStore store(directory_.path(), &ids_);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(BundleStoreTest, UnknownPinIsNotFound) {
  BundleStore store(directory_.path(), &ids_);
  EXPECT_EQ(store.Open({"demo", "1", std::string(64, '0')}).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace odyssey::bundle
