#include "ctl/policy_json.h"

#include <optional>

#include "ctl/policy_file.h"

namespace odyssey::ctl {

Json ProblemsAsJson(const dialect::Problems& problems) {
  Json list = Json::array();
  for (const dialect::Problem& problem : problems) {
    list.push_back({{"file", problem.file},
                    {"line", problem.line},
                    {"key", problem.key},
                    {"message", problem.message}});
  }
  return list;
}

dialect::Problems ProblemsOf(const Status& status, const dialect::Origins& origins,
                             const std::string& file) {
  if (status.ok()) return {};
  const dialect::Problem whole = {.file = file, .message = status.message()};
  return {origins.ToProblem(status).value_or(whole)};
}

std::string VerdictOf(const Status& status) {
  if (status.ok()) return "allow";
  const bool invalid = status.code() == Code::kInvalidArgument || status.code() == Code::kNotFound;
  return invalid ? kInvalid : "deny";
}

Json AnswerAsJson(const Answer& answer) {
  return {{"verdict", answer.verdict},
          {"rule", answer.rule},
          {"reason", answer.reason},
          {"problems", ProblemsAsJson(answer.problems)},
          {"warnings", WarningsAsJson(answer.warnings)}};
}

}  // namespace odyssey::ctl
