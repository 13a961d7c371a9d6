#include "ctl/review_view.h"

#include "ctl/sanitize.h"

namespace odyssey::ctl {

std::string FindingLine(const supervisor::v1::Finding& finding) {
  return Sanitize("left: " + finding.host_path() + ": " + finding.reason(), Lines::kOne);
}

std::string FormatReview(const supervisor::v1::ReviewCellResponse& review) {
  if (review.findings().empty()) return "nothing that the host would run or obey\n";
  std::string out;
  for (const auto& finding : review.findings()) out += FindingLine(finding) + "\n";
  return out;
}

}  // namespace odyssey::ctl
