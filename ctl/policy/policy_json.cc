#include "ctl/policy/policy_json.h"

#include <optional>

#include "ctl/policy/policy_file.h"

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

std::string VerdictName(answer::Verdict verdict) {
  switch (verdict) {
    case answer::Verdict::kAllow:
      return "allow";
    case answer::Verdict::kDeny:
      return "deny";
    case answer::Verdict::kInvalid:
      break;
  }
  return kInvalid;
}

Json AnswerAsJson(const Answer& answer) {
  return {{"verdict", answer.verdict},
          {"rule", answer.rule},
          {"reason", answer.reason},
          {"problems", ProblemsAsJson(answer.problems)},
          {"warnings", WarningsAsJson(answer.warnings)}};
}

}  // namespace odyssey::ctl
