#include "ctl/cell/standing_text.h"

#include "common/message/enum_name.h"
#include "ctl/base/sanitize.h"

namespace odyssey::ctl {

std::string StandingText(const supervisor::v1::CellStanding& standing) {
  std::string text = message::EnumName(standing.phase()) + " since " + standing.since();
  if (standing.has_by_uid()) text += " by uid " + std::to_string(standing.by_uid());
  if (!standing.reason().empty()) text += ": " + standing.reason();
  return Sanitize(text, Lines::kOne);
}

}  // namespace odyssey::ctl
