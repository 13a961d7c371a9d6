#include "tests/bench/file_tree.h"

#include <fstream>

namespace odyssey::bench {
namespace {

constexpr int kPerDirectory = 1000;

// Differs from file to file.
std::string TextOf(int file, size_t bytes) {
  std::string text;
  for (int line = 0; text.size() < bytes; ++line) {
    text += "file " + std::to_string(file) + ", line " + std::to_string(line) + "\n";
  }
  return text;
}

}  // namespace

Status MakeFiles(const std::filesystem::path& directory, int count, size_t bytes) {
  std::error_code error;
  for (int i = 0; i < count; ++i) {
    const std::filesystem::path parent = directory / ("d" + std::to_string(i / kPerDirectory));
    if (i % kPerDirectory == 0) std::filesystem::create_directories(parent, error);
    if (!(std::ofstream(parent / ("f" + std::to_string(i))) << TextOf(i, bytes) << std::flush)) {
      return Internal("create a file in " + parent.string());
    }
  }
  return OkStatus();
}

std::vector<std::string> ChangeFilesCommand(int count) {
  static const std::string script = "set -e; i=0; while [ $i -lt $1 ]; do echo changed >>d$((i / " +
                                    std::to_string(kPerDirectory) + "))/f$i; i=$((i + 1)); done";
  return {"/bin/sh", "-c", script, "sh", std::to_string(count)};
}

}  // namespace odyssey::bench
