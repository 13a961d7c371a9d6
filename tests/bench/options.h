#ifndef ODYSSEY_TESTS_BENCH_OPTIONS_H_
#define ODYSSEY_TESTS_BENCH_OPTIONS_H_

#include <string>

#include "common/base/status.h"

namespace odyssey::bench {

enum class What { kEverything, kParts, kFigures };

// odyssey-bench [--parts | --figures] [--only WORD] [--quick] [--write FILE]
struct Options {
  What what = What::kEverything;
  std::string only;  // measures only what has this in its name
  bool quick = false;
  std::string write;  // also write the report here
};

// INVALID_ARGUMENT names the option and what is allowed.
Result<Options> ParseOptions(int argc, char** argv);

}  // namespace odyssey::bench

#endif  // ODYSSEY_TESTS_BENCH_OPTIONS_H_
