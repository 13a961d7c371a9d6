#include "policy/dialect/problem.h"

namespace odyssey::dialect {
namespace {

std::string_view Prefix(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::kIo:
      return "io error at ";
    case ProblemKind::kJson5:
      return "json5 parse error at ";
    case ProblemKind::kYaml:
      return "yaml parse error at ";
    case ProblemKind::kPolicy:
      return "invalid policy at ";
    case ProblemKind::kManifest:
      break;
  }
  return "invalid manifest at ";
}

}  // namespace

std::string ToString(const Problem& problem) {
  std::string text = problem.file;
  if (problem.line > 0) text += ":" + std::to_string(problem.line);
  if (!text.empty()) text += ": ";
  if (!problem.key.empty()) text += problem.key + ": ";
  return text + problem.message;
}

Status ToStatus(const Problems& problems) {
  ODY_CHECK(!problems.empty());
  const Problem& first = problems.front();
  std::string message = std::string(Prefix(first.kind)) + ToString(first);
  if (problems.size() > 1) message += " (and " + std::to_string(problems.size() - 1) + " more)";
  return {first.kind == ProblemKind::kIo ? Code::kNotFound : Code::kInvalidArgument,
          std::move(message)};
}

}  // namespace odyssey::dialect
