#include "ctl/doctor/probe_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Line(const std::string& id, const std::string& verdict,
                 const std::string& detail = "said") {
  return R"({"id":")" + id + R"(","verdict":")" + verdict + R"(","detail":")" + detail +
         R"(","safe":"EPERM","layer":"seccomp"})" + "\n";
}

std::vector<ProbeResult> Parse(const std::string& output) {
  std::vector<ProbeResult> results;
  AppendProbeOutput("cell", output, &results);
  return results;
}

ProbeReport Report(std::vector<ProbeResult> results) {
  return {.supervisor = "probing", .cells = {{"cell", ""}}, .results = std::move(results)};
}

TEST(ProbeReportTest, ReadsEveryVerdict) {
  const auto results =
      Parse(Line("kernel.a", "contained") + Line("kernel.b", "ESCAPED") + Line("works.a", "works") +
            Line("works.b", "BROKEN") + Line("leak.a", "not_applicable") + R"({"done":5})");
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(results[0].verdict, ProbeVerdict::kContained);
  EXPECT_EQ(results[1].verdict, ProbeVerdict::kEscaped);
  EXPECT_EQ(results[2].verdict, ProbeVerdict::kWorks);
  EXPECT_EQ(results[3].verdict, ProbeVerdict::kBroken);
  EXPECT_EQ(results[4].verdict, ProbeVerdict::kNotApplicable);
  EXPECT_EQ(results[1].Class(), "kernel");
  EXPECT_EQ(results[1].layer, "seccomp");
  EXPECT_EQ(results[1].cell, "cell");
}

// A cell that ends the program early must not pass for one in which nothing escaped.
TEST(ProbeReportTest, OutputThatIsCutShortIsBroken) {
  for (const std::string end : {"", R"({"done":2})", R"({"done":-1})", R"({"done":"1"})"}) {
    const auto results = Parse(Line("kernel.a", "contained") + end);
    ASSERT_EQ(results.size(), 2u) << end;
    EXPECT_EQ(results[1].verdict, ProbeVerdict::kBroken) << end;
    EXPECT_FALSE(Report(results).Good());
  }
  EXPECT_FALSE(Report(Parse("")).Good());
}

TEST(ProbeReportTest, LinesThatAreNoResultsAreBroken) {
  for (const std::string line :
       {"text", "[]", "{}", "{\"id\":\"a.b\"}", R"({"id":"a.b","verdict":"fine"})",
        R"({"id":1,"verdict":"works"})", R"({"id":"nodot","verdict":"works"})"}) {
    const auto results = Parse(line + "\n" + R"({"done":0})");
    ASSERT_EQ(results.size(), 1u) << line;
    EXPECT_EQ(results[0].verdict, ProbeVerdict::kBroken) << line;
  }
}

TEST(ProbeReportTest, IsGoodOnlyIfSomethingWasContainedAndNothingFailed) {
  const ProbeResult contained{.id = "kernel.a", .verdict = ProbeVerdict::kContained};
  const ProbeResult works{.id = "works.a", .verdict = ProbeVerdict::kWorks};
  const ProbeResult nothing{.id = "leak.a", .verdict = ProbeVerdict::kNotApplicable};
  EXPECT_TRUE(Report({contained, works, nothing}).Good());
  EXPECT_FALSE(Report({}).Good());
  EXPECT_FALSE(Report({works, nothing}).Good());
  for (const ProbeVerdict bad : {ProbeVerdict::kEscaped, ProbeVerdict::kBroken}) {
    EXPECT_FALSE(Report({contained, {.id = "kernel.b", .verdict = bad}}).Good());
  }
}

TEST(ProbeReportTest, TellsALineForEachClassAndEveryFailure) {
  ProbeReport report =
      Report({{"one", "kernel.a", ProbeVerdict::kContained, "", "", ""},
              {"two", "kernel.a", ProbeVerdict::kContained, "", "", ""},
              {"one", "kernel.b", ProbeVerdict::kContained, "", "", ""},
              {"two", "kernel.b", ProbeVerdict::kEscaped, "it succeeded", "EPERM", "seccomp"},
              {"one", "works.a", ProbeVerdict::kWorks, "", "", ""},
              {"two", "works.a", ProbeVerdict::kNotApplicable, "why", "", ""},
              {"one", "leak.a", ProbeVerdict::kNotApplicable, "why", "", ""}});
  const std::string text = FormatProbeReport(report, /*all=*/false, /*color=*/false);
  EXPECT_THAT(text, HasSubstr("✗ kernel      1 contained, 1 ESCAPED\n"));
  EXPECT_THAT(text, HasSubstr("✗ kernel.b [two] ESCAPED: it succeeded\n"));
  EXPECT_THAT(text, HasSubstr("should have been stopped by: seccomp"));
  EXPECT_THAT(text, HasSubstr("✓ works       1 work\n"));
  EXPECT_THAT(text, HasSubstr("✓ leak        0 contained, 1 not applicable\n"));
  EXPECT_THAT(text, Not(HasSubstr("kernel.a")));
  EXPECT_THAT(FormatProbeReport(report, /*all=*/true, false),
              HasSubstr("✓ kernel.a [one] contained"));
}

TEST(ProbeReportTest, TellsWhichCellsWereNotOffered) {
  ProbeReport report = Report({});
  report.cells.push_back({"executables explicit", "not offered by this version"});
  EXPECT_THAT(FormatProbeReport(report, false, false),
              HasSubstr("executables explicit: not offered: not offered by this version\n"));
  EXPECT_EQ(ProbeReportToJson(report)["cells"][1]["offered"], false);
}

// What the program says has been in a cell.
TEST(ProbeReportTest, WhatACellSaysDoesNotReachTheTerminalRaw) {
  const std::string text = FormatProbeReport(
      Report(Parse(Line("kernel.a\\u001b[2J", "ESCAPED", "\\u001b]52;c;x\\u0007"))), true, false);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\a'), std::string::npos);
}

TEST(ProbeReportTest, JsonHasEveryResult) {
  const Json json =
      ProbeReportToJson(Report({{"one", "works.a", ProbeVerdict::kBroken, "d", "s", ""},
                                {"one", "kernel.a", ProbeVerdict::kContained, "", "", "seccomp"}}));
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["results"][0]["verdict"], "BROKEN");
  EXPECT_EQ(json["results"][0]["kind"], "functional");
  EXPECT_EQ(json["results"][1]["class"], "kernel");
  EXPECT_EQ(json["results"][1]["kind"], "containment");
}

TEST(ProbeReportTest, WhatAWeaknessLetsThroughIsWeakerAndNothingElse) {
  ProbeReport report{.results = {{"one", "limits.memory", ProbeVerdict::kEscaped, "", "", ""},
                                 {"one", "leak.a", ProbeVerdict::kEscaped, "", "", ""}}};
  ApplyWeaknesses({}, &report);
  EXPECT_EQ(report.results[0].verdict, ProbeVerdict::kEscaped);
  ApplyWeaknesses({"memory"}, &report);
  EXPECT_EQ(report.results[0].verdict, ProbeVerdict::kWeaker);
  EXPECT_EQ(report.results[0].weakness, "memory");
  EXPECT_EQ(report.results[1].verdict, ProbeVerdict::kEscaped);
  EXPECT_FALSE(report.Good());
}

}  // namespace
}  // namespace odyssey::ctl
