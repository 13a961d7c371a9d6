#ifndef ODYSSEY_CTL_VIEW_CHANGE_VIEW_H_
#define ODYSSEY_CTL_VIEW_CHANGE_VIEW_H_

// Changes as people read them. Everything is sanitised: names and contents come from a cell. Pure.

#include <string>
#include <vector>

#include "odyssey/supervisor/v1/changes.pb.h"

namespace odyssey::ctl {

// "M  src/a.c", a line; with what is marked or in conflict, and why.
std::string ChangeLine(const supervisor::v1::Change& change, bool color);

// "2 added, 1 modified (1 marked, 1 in conflict)", or "no changes".
std::string CountsText(const supervisor::v1::ChangeCounts& counts);
bool IsEmpty(const supervisor::v1::ChangeCounts& counts);

bool IsDirectory(const supervisor::v1::Change& change);

// "odyssey-ctl commit NAME --marked PATH" as it is typed, with what a shell would obey in it
// quoted, and as it is shown.
std::string CommandText(const std::vector<std::string>& words);

// "not committed: PATH: REASON", and what to type.
std::string RefusalLine(const supervisor::v1::RefusedChange& refused, const std::string& name);

// The path as it is shown: relative to the workspace.
std::string ShownPath(const std::string& path);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_VIEW_CHANGE_VIEW_H_
