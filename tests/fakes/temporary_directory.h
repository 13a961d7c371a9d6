#ifndef ODYSSEY_TESTS_FAKES_TEMPORARY_DIRECTORY_H_
#define ODYSSEY_TESTS_FAKES_TEMPORARY_DIRECTORY_H_

// A directory of a test's own, removed with everything in it.

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/base/status.h"

namespace odyssey::fakes {

class TemporaryDirectory final {
 public:
  explicit TemporaryDirectory(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path())
      : path_(parent / "odyssey-test-XXXXXX") {
    ODY_CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

  // Writes a file below the directory, making its parents; returns its path.
  std::string Write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file.string();
  }

 private:
  std::string path_;
};

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_TEMPORARY_DIRECTORY_H_
