#ifndef ODYSSEY_CTL_FILE_FILE_REPORT_H_
#define ODYSSEY_CTL_FILE_FILE_REPORT_H_

// What is said about files that were put or got. Names come from a cell or a command line: they are
// cleaned before they reach a terminal.

#include <string>
#include <vector>

#include "ctl/base/console.h"
#include "ctl/file/file_calls.h"
#include "ctl/file/local_files.h"

namespace odyssey::ctl {

// A warning for each, on stderr.
void WarnSkipped(const Console& console, const FilesToPut& files);

// A warning for each that was skipped and a failure for each that could not be written. False if
// there was one of these.
bool ReportGotFiles(const Console& console, const std::vector<GotFile>& files);

// {run_id, files: [{path, size, skipped, error}]}.
Json GotFilesJson(const std::string& run_id, const std::vector<GotFile>& files);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_FILE_FILE_REPORT_H_
