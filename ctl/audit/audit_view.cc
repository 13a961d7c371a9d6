#include "ctl/audit/audit_view.h"

#include <algorithm>

#include "ctl/base/sanitize.h"

namespace odyssey::ctl {
namespace {

// Fields that every record has, shown in front or not at all.
constexpr std::string_view kFrame[] = {"seq", "time", "type", "prev", "hash"};

bool IsPlain(const std::string& text) {
  return !text.empty() && text.find_first_of(" \t\"'=\\\r\n") == std::string::npos;
}

std::string ValueText(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (IsPlain(text)) return text;
  }
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Style StyleOf(std::string_view type) {
  if (type == "deny" || type == "refuse") return Style::kWarn;
  if (type == audit::kTornType || type == audit::kMissingType || type == "resumed") {
    return Style::kBad;
  }
  return Style::kBold;
}

std::string Count(uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

std::string FormatAuditLine(std::string_view line, bool color) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const Result<audit::Line> parsed = audit::ParseLine(line);
  if (!parsed.ok() || !json.is_object()) return "? " + Sanitize(line, Lines::kOne);
  std::string out = Paint(Sanitize(parsed->time, Lines::kOne), Style::kDim, color) + " " +
                    std::to_string(parsed->seq) + " " +
                    Paint(parsed->type, StyleOf(parsed->type), color);
  for (const auto& [name, value] : json.items()) {
    if (std::find(std::begin(kFrame), std::end(kFrame), name) != std::end(kFrame)) continue;
    out += " " + Sanitize(name + "=" + ValueText(value), Lines::kOne);
  }
  return out;
}

std::string FormatProblem(const audit::Problem& problem) {
  std::string out;
  if (problem.line != 0) out += problem.file + ":" + std::to_string(problem.line) + ": ";
  if (problem.line != 0 && problem.seq != 0) out += "record " + std::to_string(problem.seq) + ": ";
  return Sanitize(out + problem.what, Lines::kOne);
}

std::string FormatVerdict(const audit::Chain& chain) {
  std::string out;
  for (const audit::Problem& problem : chain.problems()) out += FormatProblem(problem) + "\n";
  if (chain.problem_count() > chain.problems().size()) {
    out += "… and " + std::to_string(chain.problem_count() - chain.problems().size()) + " more\n";
  }
  if (chain.torn() > 0) {
    out += "note: a crash cut off " + Count(chain.torn(), "record") + "; the log has the place\n";
  }
  if (chain.unfinished() > 0) {
    out += "note: the last record is not whole: it is being written, or a crash cut it off\n";
  }
  if (chain.rotated().seq > 0) {
    out += "note: rotation removed the records up to " + std::to_string(chain.rotated().seq) + "\n";
  }
  out += chain.problem_count() == 0 ? "ok: " : Count(chain.problem_count(), "problem") + " in ";
  out += Count(chain.records(), "record");
  if (chain.records() > 0) {
    out += ", " + std::to_string(chain.first_seq()) + " to " + std::to_string(chain.last().seq) +
           "\nlast " + std::to_string(chain.last().seq) + ":" + chain.last().hash;
  }
  return out + "\n";
}

Json VerdictJson(const audit::Chain& chain) {
  Json problems = Json::array();
  for (const audit::Problem& problem : chain.problems()) {
    problems.push_back({{"file", problem.file},
                        {"line", problem.line},
                        {"seq", problem.seq},
                        {"what", problem.what}});
  }
  return {{"ok", chain.problem_count() == 0},       {"records", chain.records()},
          {"first_seq", chain.first_seq()},         {"last_seq", chain.last().seq},
          {"last_hash", chain.last().hash},         {"torn", chain.torn()},
          {"unfinished_bytes", chain.unfinished()}, {"problem_count", chain.problem_count()},
          {"rotated_seq", chain.rotated().seq},     {"problems", std::move(problems)}};
}

}  // namespace odyssey::ctl
