#ifndef ODYSSEY_TESTS_INTEGRATION_BAD_INPUT_FIXTURE_H_
#define ODYSSEY_TESTS_INTEGRATION_BAD_INPUT_FIXTURE_H_

// Every malformed field of every request: an error that names the field, nothing started, nothing
// left, and the cells that live go on.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {

// One bad value: what it does to a good request, and the words that the error must have.
template <typename Request>
struct BadField {
  std::string name;
  std::function<void(Request*)> spoil;
  Code code;
  std::string words;
};

class BadInputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(host_ / "real");
    std::filesystem::create_symlink(host_ / "real", host_ / "link");
    std::filesystem::create_directory(host_ / "real/below");
    std::ofstream(host_ / "file") << "text";
    ASSERT_EQ(mkfifo((host_ / "fifo").c_str(), 0600), 0);
    ASSERT_EQ(mknod((host_ / "device").c_str(), S_IFCHR | 0600, makedev(1, 3)), 0);
  }
  void TearDown() override { std::filesystem::remove_all(host_); }

  static std::filesystem::path MakeHostDirectory() {
    std::string path = (std::filesystem::temp_directory_path() / "odyssey-host-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) abort();
    return path;
  }

  void ExpectRefused(const Status& status, Code code, const std::string& words) {
    EXPECT_EQ(status.code(), code) << status.ToString();
    EXPECT_NE(status.message().find(words), std::string::npos)
        << "\"" << words << "\" is not in: " << status.message().substr(0, 400);
  }

  void ExpectNothingLeft() {
    // What a failed launch started has ended; it may not have been reaped yet.
    EXPECT_TRUE(Eventually([&] { return supervisor_.CellProcesses().empty(); }));
    EXPECT_TRUE(Eventually([&] { return supervisor_.CellGroups().empty(); }));
    grpc::ClientContext context;
    v1::GetInfoResponse info;
    EXPECT_TRUE(supervisor_.stub()->GetInfo(&context, {}, &info).ok());
    EXPECT_EQ(info.live_cells(), 0u);
  }

  // Spoils a good request in each way; each must be refused and leave nothing.
  void ExpectAllRefused(const std::vector<BadField<v1::PrepareCellRequest>>& fields) {
    for (const auto& field : fields) {
      SCOPED_TRACE(field.name);
      v1::PrepareCellRequest request = SupervisorHarness::Request("bad");
      field.spoil(&request);
      const auto cell = supervisor_.Prepare(request);
      ASSERT_FALSE(cell.ok());
      ExpectRefused(cell.status(), field.code, field.words);
    }
    ExpectNothingLeft();
    EXPECT_TRUE(supervisor_.Prepare(SupervisorHarness::Request("good")).ok());
  }

  static std::function<void(v1::PrepareCellRequest*)> WithMount(
      const std::string& source, const std::string& target,
      policy::v1::Access access = policy::v1::ACCESS_READ_ONLY) {
    return [=](v1::PrepareCellRequest* request) {
      policy::v1::Mount* mount = request->mutable_sandbox()->add_mounts();
      mount->set_source(source);
      mount->set_target(target);
      mount->set_access(access);
    };
  }

  std::string Host(const std::string& name) const { return (host_ / name).string(); }

  const std::filesystem::path host_ = MakeHostDirectory();
  SupervisorHarness supervisor_;
};

inline constexpr Code kInvalid = Code::kInvalidArgument;
inline constexpr Code kDenied = Code::kPermissionDenied;

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_INTEGRATION_BAD_INPUT_FIXTURE_H_
