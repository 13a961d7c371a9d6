// A Dockerfile is a project's: any text is parsed, and what comes of it is expanded. The last part
// of the input is a .dockerignore, the last of that a path.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "image/dockerfile/dockerfile.h"
#include "image/dockerfile/ignore_file.h"
#include "image/dockerfile/word.h"

namespace {

using odyssey::dockerfile::Dockerfile;
using odyssey::dockerfile::Instruction;
using odyssey::dockerfile::Problem;
using odyssey::dockerfile::Problems;

std::string_view TakeLast(std::string_view* bytes) {
  const size_t end = bytes->rfind('\0');
  if (end == std::string_view::npos) return {};
  const std::string_view last = bytes->substr(end + 1);
  *bytes = bytes->substr(0, end);
  return last;
}

// What was accepted can be expanded, whatever the variables are, but for ${A:?}.
void Expand(const Dockerfile& file, const Instruction& instruction) {
  for (const char* const value : {"", "x", "$y"}) {
    const auto lookup = [value](const std::string& name) {
      return name.size() % 2 == 0 ? std::nullopt : std::optional<std::string>(value);
    };
    for (const std::string& word : instruction.words) {
      (void)odyssey::dockerfile::Expand(word, file.escape, lookup);
    }
    for (const auto& heredoc : instruction.heredocs) {
      (void)odyssey::dockerfile::ExpandHeredoc(heredoc.content, file.escape, lookup);
    }
  }
  for (const auto& [name, text] : instruction.pairs) {
    if (text && instruction.kind != odyssey::dockerfile::Kind::kLabel) {
      ODY_CHECK(odyssey::dockerfile::CheckWord(*text, file.escape).ok());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view path = TakeLast(&bytes);
  const std::string_view ignored = TakeLast(&bytes);
  Problems problems;
  const Dockerfile file = odyssey::dockerfile::ParseDockerfile(bytes, &problems);
  ODY_CHECK(!file.stages.empty() || !problems.empty());
  int line = 1;
  for (const Problem& problem : problems) {
    ODY_CHECK(problem.line >= line && !problem.text.empty());
    line = problem.line;
  }
  for (const auto& stage : file.stages) {
    for (const Instruction& instruction : stage.instructions) Expand(file, instruction);
  }
  Problems of_ignore;
  const auto ignore = odyssey::dockerfile::IgnoreFile::Parse(ignored, &of_ignore);
  (void)ignore.Ignores(path);
  ODY_CHECK(odyssey::dockerfile::CleanPath(odyssey::dockerfile::CleanPath(path)) ==
            odyssey::dockerfile::CleanPath(path));
  return 0;
}
