#include "ctl/egress/egress_view.h"

#include <algorithm>
#include <vector>

#include "ctl/base/sanitize.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kMaxPlaces = 10'000;  // in totals; more are counted together
constexpr char kMore[] = "(others)";

int64_t NumberOf(const Json& record, const char* name) {
  const auto it = record.find(name);
  return it == record.end() || !it->is_number_integer() ? 0 : it->get<int64_t>();
}

std::string PlaceOf(const Json& record) {
  const int64_t port = NumberOf(record, "port");
  const std::string host = TextOf(record, "host");
  return port == 0 ? host : host + ":" + std::to_string(port);
}

Style StyleOf(const std::string& verdict) {
  return verdict == "denied" ? Style::kBad : verdict == "audited" ? Style::kWarn : Style::kDim;
}

// "18:02:11" of RFC 3339.
std::string ClockOf(const std::string& time) {
  return time.size() < 19 ? time : time.substr(11, 8);
}

}  // namespace

std::string TextOf(const Json& record, const char* name) {
  const auto it = record.find(name);
  return it == record.end() || !it->is_string() ? "" : it->get<std::string>();
}

Json EgressRecordOf(std::string_view line, const EgressFilter& filter) {
  // Most lines are of another type.
  if (line.find("\"egress\"") == std::string_view::npos) return nullptr;
  Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object() || TextOf(record, "type") != "egress") return nullptr;
  if (!filter.cell.empty() && TextOf(record, "cell_id") != filter.cell) return nullptr;
  if (filter.denied && TextOf(record, "verdict") != "denied") return nullptr;
  return record;
}

std::string FormatEgress(const Json& record, bool color) {
  const std::string verdict = TextOf(record, "verdict");
  const std::string method = TextOf(record, "method");
  const int64_t status = NumberOf(record, "status");
  const std::string code = TextOf(record, "code");
  std::string what = method.empty() ? "" : method + " ";
  what += PlaceOf(record) + TextOf(record, "path");
  std::string out = ClockOf(TextOf(record, "time")) + " ";
  out += Paint(Sanitize(verdict, Lines::kOne), StyleOf(verdict), color);
  out += std::string(verdict.size() < 7 ? 7 - verdict.size() : 0, ' ') + "  ";
  out += Sanitize(what, Lines::kOne) + "  ";
  const std::string program = TextOf(record, "program");
  out += Sanitize(program.empty() ? "(unknown program)" : program, Lines::kOne);
  if (status != 0) out += "  " + std::to_string(status);
  const std::string rule = TextOf(record, "rule");
  if (!rule.empty()) out += "  by " + Sanitize(rule, Lines::kOne);
  if (!code.empty()) out += "  " + Sanitize(code + ": " + TextOf(record, "reason"), Lines::kOne);
  return out;
}

void EgressTotals::Add(const Json& record) {
  std::string place = PlaceOf(record);
  if (totals_.count(place) == 0 && totals_.size() >= kMaxPlaces) place = kMore;
  Total& total = totals_[place];
  const std::string verdict = TextOf(record, "verdict");
  ++(verdict == "denied" ? total.denied : verdict == "audited" ? total.audited : total.allowed);
  const std::string program = TextOf(record, "program");
  if (total.programs.size() < kMaxPlaces) ++total.programs[program];
  total.last_time = TextOf(record, "time");
  if (verdict == "denied") total.last_code = TextOf(record, "code");
}

std::string EgressTotals::Table(size_t rows) const {
  std::vector<std::pair<std::string, const Total*>> sorted;
  for (const auto& [place, total] : totals_) sorted.emplace_back(place, &total);
  const auto count = [](const Total& t) { return t.allowed + t.denied + t.audited; };
  std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
    return count(*a.second) > count(*b.second);
  });
  if (sorted.size() > rows) sorted.resize(rows);
  std::vector<std::vector<std::string>> cells;
  for (const auto& [place, total] : sorted) {
    const auto most =
        std::max_element(total->programs.begin(), total->programs.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    cells.push_back({Sanitize(place, Lines::kOne), std::to_string(total->allowed),
                     std::to_string(total->denied), std::to_string(total->audited),
                     Sanitize(most->first.empty() ? "(unknown)" : most->first, Lines::kOne),
                     ClockOf(Sanitize(total->last_time, Lines::kOne)),
                     Sanitize(total->last_code, Lines::kOne)});
  }
  return FormatTable(
      {"DESTINATION", "ALLOWED", "DENIED", "AUDITED", "MOST BY", "LAST", "REFUSED FOR"}, cells);
}

Json EgressTotals::ToJson() const {
  Json out = Json::array();
  for (const auto& [place, total] : totals_) {
    out.push_back({{"destination", place},
                   {"allowed", total.allowed},
                   {"denied", total.denied},
                   {"audited", total.audited},
                   {"programs", total.programs},
                   {"last_time", total.last_time},
                   {"last_code", total.last_code}});
  }
  return out;
}

}  // namespace odyssey::ctl
