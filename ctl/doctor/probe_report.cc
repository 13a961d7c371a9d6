#include "ctl/doctor/probe_report.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "ctl/base/sanitize.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kClassColumn = 12;
constexpr char kFunctional[] = "works";

constexpr std::array kVerdicts = {ProbeVerdict::kContained,     ProbeVerdict::kEscaped,
                                  ProbeVerdict::kWorks,         ProbeVerdict::kBroken,
                                  ProbeVerdict::kNotApplicable, ProbeVerdict::kWeaker};

// What each weakness lets through: the probes whose ids begin so.
struct LetThrough {
  std::string_view weakness;
  std::string_view ids;
};
constexpr LetThrough kLetThrough[] = {{"memory", "limits.memory"},
                                      {"groups", "leak.groups"},
                                      {"mounts", "network.unix_in_ro_"},
                                      {"mounts", "network.host_ro_listeners"}};

bool ParseVerdict(std::string_view name, ProbeVerdict* verdict) {
  const auto it = std::find_if(kVerdicts.begin(), kVerdicts.end(),
                               [&](ProbeVerdict each) { return ProbeVerdictName(each) == name; });
  if (it == kVerdicts.end()) return false;
  *verdict = *it;
  return true;
}

// One line of odyssey-probe; false if it is no result.
bool ParseResult(const Json& line, ProbeResult* result) {
  const auto text = [&](const char* name) {
    const auto it = line.find(name);
    return it != line.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  result->id = text("id");
  result->detail = text("detail");
  result->safe = text("safe");
  result->layer = text("layer");
  return result->id.find('.') != std::string::npos &&
         ParseVerdict(text("verdict"), &result->verdict);
}

ProbeResult NoAnswer(const std::string& cell, std::string detail) {
  return {.cell = cell,
          .id = "works.odyssey-probe",
          .verdict = ProbeVerdict::kBroken,
          .detail = std::move(detail),
          .safe = "it reports a result for each probe"};
}

// One probe in all the cells that it was tried in.
struct Tried {
  std::vector<const ProbeResult*> results;

  // How it went in the worst of them; that it did not apply only if it applied in none.
  ProbeVerdict Worst() const {
    ProbeVerdict worst = ProbeVerdict::kNotApplicable;
    for (const ProbeResult* result : results) {
      if (result->IsFailure()) return result->verdict;
      if (result->verdict != ProbeVerdict::kNotApplicable) worst = result->verdict;
    }
    return worst;
  }
};

// In the order in which they came.
template <typename Value>
class Ordered {
 public:
  Value& operator[](const std::string& name) {
    const auto [it, added] = index_.emplace(name, entries_.size());
    if (added) entries_.emplace_back(name, Value());
    return entries_[it->second].second;
  }
  const std::vector<std::pair<std::string, Value>>& entries() const { return entries_; }

 private:
  std::map<std::string, size_t> index_;
  std::vector<std::pair<std::string, Value>> entries_;
};

Ordered<Ordered<Tried>> ByClass(const ProbeReport& report) {
  Ordered<Ordered<Tried>> classes;
  for (const ProbeResult& result : report.results) {
    classes[result.Class()][result.id].results.push_back(&result);
  }
  return classes;
}

std::string Mark(bool good, bool color) {
  return good ? Paint("✓", Style::kGood, color) : Paint("✗", Style::kBad, color);
}

std::string ClassLine(const std::string& name, const Ordered<Tried>& probes, bool color) {
  std::map<ProbeVerdict, size_t> counts;
  for (const auto& [id, tried] : probes.entries()) ++counts[tried.Worst()];
  const size_t failed = counts[ProbeVerdict::kEscaped] + counts[ProbeVerdict::kBroken];
  std::string column = Sanitize(name, Lines::kOne);
  column.resize(std::max(column.size() + 1, kClassColumn), ' ');

  const bool functional = name == kFunctional;
  const size_t good = counts[functional ? ProbeVerdict::kWorks : ProbeVerdict::kContained];
  std::string line = Mark(failed == 0, color) + " " + column + std::to_string(good) +
                     (functional ? " work" : " contained");
  const auto add = [&](ProbeVerdict verdict, const char* words) {
    if (counts[verdict] != 0) line += ", " + std::to_string(counts[verdict]) + " " + words;
  };
  add(ProbeVerdict::kEscaped, "ESCAPED");
  add(ProbeVerdict::kBroken, "BROKEN");
  add(ProbeVerdict::kWeaker, "weaker without root");
  add(ProbeVerdict::kNotApplicable, "not applicable");
  return line + "\n";
}

std::string ResultLines(const ProbeResult& result, bool color) {
  const auto clean = [](const std::string& text) { return Sanitize(text, Lines::kOne); };
  std::string out = "    " + Mark(!result.IsFailure(), color) + " " + clean(result.id) + " [" +
                    clean(result.cell) + "] " + std::string(ProbeVerdictName(result.verdict));
  if (!result.detail.empty()) out += ": " + clean(result.detail);
  out += "\n";
  if (!result.IsFailure()) return out;
  if (!result.safe.empty()) out += "        safe: " + clean(result.safe) + "\n";
  if (!result.layer.empty()) {
    out += "        should have been stopped by: " + clean(result.layer) + "\n";
  }
  return out;
}

}  // namespace

std::string_view ProbeVerdictName(ProbeVerdict verdict) {
  switch (verdict) {
    case ProbeVerdict::kContained:
      return "contained";
    case ProbeVerdict::kEscaped:
      return "ESCAPED";
    case ProbeVerdict::kWorks:
      return "works";
    case ProbeVerdict::kBroken:
      return "BROKEN";
    case ProbeVerdict::kNotApplicable:
      return "not_applicable";
    case ProbeVerdict::kWeaker:
      return "weaker";
  }
  return "";
}

bool ProbeReport::Good() const {
  const auto failed = [](const ProbeResult& result) { return result.IsFailure(); };
  const auto held = [](const ProbeResult& result) {
    return result.verdict == ProbeVerdict::kContained;
  };
  return std::none_of(results.begin(), results.end(), failed) &&
         std::any_of(results.begin(), results.end(), held);
}

void AppendProbeOutput(const std::string& cell, std::string_view output,
                       std::vector<ProbeResult>* results) {
  std::istringstream lines{std::string(output)};
  size_t count = 0;
  bool complete = false;
  for (std::string text; std::getline(lines, text);) {
    const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (line.is_object() && line.contains("done")) {
      complete = line["done"].is_number_unsigned() && line["done"].get<size_t>() == count;
      break;
    }
    ProbeResult result{.cell = cell};
    if (!line.is_object() || !ParseResult(line, &result)) {
      results->push_back(NoAnswer(cell, "not a result: " + text));
      continue;
    }
    ++count;
    results->push_back(std::move(result));
  }
  if (!complete) {
    results->push_back(
        NoAnswer(cell, "it ended early, after " + std::to_string(count) + " probes"));
  }
}

void ApplyWeaknesses(const std::set<std::string>& weaknesses, ProbeReport* report) {
  for (ProbeResult& result : report->results) {
    if (result.verdict != ProbeVerdict::kEscaped) continue;
    for (const LetThrough& row : kLetThrough) {
      const bool announced = weaknesses.count(std::string(row.weakness)) != 0;
      if (!announced || !result.id.starts_with(row.ids)) continue;
      result.verdict = ProbeVerdict::kWeaker;
      result.weakness = row.weakness;
    }
  }
}

std::string FormatProbeReport(const ProbeReport& report, bool all, bool color) {
  std::string out = Sanitize(report.supervisor, Lines::kOne) + "\n";
  for (const ProbedCell& cell : report.cells) {
    const bool made = cell.not_offered.empty();
    out += "  " + Sanitize(cell.name, Lines::kOne) +
           (made ? "" : ": not offered: " + Sanitize(cell.not_offered, Lines::kOne)) + "\n";
  }
  const Ordered<Ordered<Tried>> classes = ByClass(report);
  for (const auto& [name, probes] : classes.entries()) {
    out += ClassLine(name, probes, color);
    for (const auto& [id, tried] : probes.entries()) {
      for (const ProbeResult* result : tried.results) {
        if (all || result->IsFailure()) out += ResultLines(*result, color);
      }
    }
  }
  return out;
}

Json ProbeReportToJson(const ProbeReport& report) {
  Json cells = Json::array();
  for (const ProbedCell& cell : report.cells) {
    Json entry = {{"name", cell.name}, {"offered", cell.not_offered.empty()}};
    if (!cell.not_offered.empty()) entry["why"] = cell.not_offered;
    cells.push_back(std::move(entry));
  }
  Json results = Json::array();
  for (const ProbeResult& result : report.results) {
    results.push_back({{"cell", result.cell},
                       {"id", result.id},
                       {"class", result.Class()},
                       {"kind", result.Class() == kFunctional ? "functional" : "containment"},
                       {"verdict", ProbeVerdictName(result.verdict)},
                       {"detail", result.detail},
                       {"safe", result.safe},
                       {"layer", result.layer},
                       {"weakness", result.weakness}});
  }
  return {{"good", report.Good()},
          {"supervisor", report.supervisor},
          {"cells", std::move(cells)},
          {"results", std::move(results)}};
}

}  // namespace odyssey::ctl
