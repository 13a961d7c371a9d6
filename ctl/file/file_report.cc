#include "ctl/file/file_report.h"

#include "ctl/base/sanitize.h"

namespace odyssey::ctl {
namespace {

void WarnOne(const Console& console, const std::string& text) {
  console.Warn("odyssey-ctl: warning: " + Sanitize(text, Lines::kOne));
}

}  // namespace

void WarnSkipped(const Console& console, const FilesToPut& files) {
  for (const std::string& text : files.skipped) WarnOne(console, text);
}

bool ReportGotFiles(const Console& console, const std::vector<GotFile>& files) {
  bool all = true;
  for (const GotFile& file : files) {
    if (!file.skipped.empty()) {
      const std::string what = file.path.empty() ? "the rest" : "\"" + file.path + "\"";
      WarnOne(console, what + " is skipped: " + file.skipped);
    }
    if (file.status.ok()) continue;
    console.Fail({"get \"" + file.path + "\"", file.status.message(), ""});
    all = false;
  }
  return all;
}

Json GotFilesJson(const std::string& run_id, const std::vector<GotFile>& files) {
  Json list = Json::array();
  for (const GotFile& file : files) {
    list.push_back({{"path", file.path},
                    {"size", file.size},
                    {"skipped", file.skipped},
                    {"error", file.status.message()}});
  }
  return {{"run_id", run_id}, {"files", std::move(list)}};
}

}  // namespace odyssey::ctl
