#ifndef ODYSSEY_IMAGE_DOCKERFILE_DOCKERFILE_H_
#define ODYSSEY_IMAGE_DOCKERFILE_DOCKERFILE_H_

// A Dockerfile as values. What is not known is a problem of its line: nothing is ignored that would
// make another image. Pure.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "image/dockerfile/logical_lines.h"
#include "image/dockerfile/problem.h"

namespace odyssey::dockerfile {

inline constexpr size_t kMaxDockerfileBytes = size_t{1} << 20;

enum class Kind {
  kAdd,
  kArg,
  kCmd,
  kCopy,
  kEntrypoint,
  kEnv,
  kExpose,
  kLabel,
  kMaintainer,
  kRun,
  kShell,
  kStopSignal,
  kUser,
  kVolume,
  kWorkdir,
};

struct Instruction {
  Kind kind = Kind::kRun;
  int line = 0;
  std::string text;  // one line for people: "RUN make …"
  // Of exec form, and of JSON lists, the strings. Else as they were written, to be expanded; of the
  // shell form of RUN, CMD and ENTRYPOINT one, the command.
  std::vector<std::string> words;
  bool json = false;
  // NAME and value as written, of ENV, LABEL and ARG; without a value, an ARG has no default.
  std::vector<std::pair<std::string, std::optional<std::string>>> pairs;
  std::map<std::string, std::string> flags;  // of COPY and ADD: "from", "chown", "chmod"
  std::vector<Heredoc> heredocs;
  friend bool operator==(const Instruction&, const Instruction&) = default;
};

struct Stage {
  int line = 0;
  std::string text;      // "FROM …"
  std::string base;      // as written
  std::string platform;  // as written; "": not said
  std::string name;      // in lower case; "": it has its number alone
  std::vector<Instruction> instructions;
  friend bool operator==(const Stage&, const Stage&) = default;
};

struct Dockerfile {
  char escape = '\\';
  std::vector<Instruction> arguments;  // ARG before the first FROM
  std::vector<Stage> stages;           // at least one, if there is no problem
  friend bool operator==(const Dockerfile&, const Dockerfile&) = default;
};

// Adds every problem, not only the first, in the order of lines.
Dockerfile ParseDockerfile(std::string_view text, Problems* problems);

// "ADD", …
std::string_view KeywordOf(Kind kind);

}  // namespace odyssey::dockerfile

#endif  // ODYSSEY_IMAGE_DOCKERFILE_DOCKERFILE_H_
