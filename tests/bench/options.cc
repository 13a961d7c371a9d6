#include "tests/bench/options.h"

#include <string_view>

namespace odyssey::bench {

Result<Options> ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--parts") {
      options.what = What::kParts;
    } else if (word == "--figures") {
      options.what = What::kFigures;
    } else if (word == "--quick") {
      options.quick = true;
    } else if (word == "--only" || word == "--write") {
      if (i + 1 == argc) return InvalidArgument(std::string(word) + ": needs a value");
      (word == "--only" ? options.only : options.write) = argv[++i];
    } else {
      return InvalidArgument(std::string(word) +
                             ": unknown; allowed: --parts, --figures, --only WORD, --quick, "
                             "--write FILE");
    }
  }
  return options;
}

}  // namespace odyssey::bench
