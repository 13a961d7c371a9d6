#ifndef ODYSSEY_CTL_CELL_STANDING_TEXT_H_
#define ODYSSEY_CTL_CELL_STANDING_TEXT_H_

#include <string>

#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::ctl {

// "suspended since 2026-…Z by uid 0: looking at it". Clean for a terminal. Pure.
std::string StandingText(const supervisor::v1::CellStanding& standing);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CELL_STANDING_TEXT_H_
