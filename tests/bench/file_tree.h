#ifndef ODYSSEY_TESTS_BENCH_FILE_TREE_H_
#define ODYSSEY_TESTS_BENCH_FILE_TREE_H_

// Trees of files that figures work in.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::bench {

// d0/f0 … d0/f999, d1/f1000 …: `count` files of lines of text, `bytes` long or a line longer.
// Makes `directory` if it is not there.
Status MakeFiles(const std::filesystem::path& directory, int count, size_t bytes);

// A command that appends "changed" to the first `count` of those files, in its working directory.
std::vector<std::string> ChangeFilesCommand(int count);

}  // namespace odyssey::bench

#endif  // ODYSSEY_TESTS_BENCH_FILE_TREE_H_
