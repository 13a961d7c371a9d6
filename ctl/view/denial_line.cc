#include "ctl/view/denial_line.h"

#include <unistd.h>

#include "ctl/base/sanitize.h"

namespace odyssey::ctl {

namespace {

const char* VerdictWord(const std::string& verdict) {
  return verdict == "kill" ? "killed" : verdict == "cut" ? "cut" : "denied";
}

}  // namespace

std::string DenialLine(const supervisor::v1::Denial& denial) {
  std::string out = denial.hint() ? "maybe " : "";
  out += VerdictWord(denial.verdict()) + (": " + denial.access());
  if (!denial.resource().empty()) out += " " + denial.resource();
  out += " (" + denial.rule() + ")";
  if (!denial.process().empty()) out += " by " + denial.process();
  if (denial.count() > 1) out += ", " + std::to_string(denial.count()) + " times";
  if (!denial.grant().empty()) out += "; to allow: " + denial.grant();
  return Sanitize(out, Lines::kOne);
}

OptionSpec DenialsOption() {
  return {.name = "denials",
          .kind = ValueKind::kChoice,
          .value_name = "WHEN",
          .help =
              "print what was refused, and what exec has left in host directories, on stderr: auto "
              "(on a terminal, default), always or never",
          .choices = {"auto", "always", "never"}};
}

ShowDenials ReadDenialsOption(const ParsedOptions& options) {
  const std::string when = options.Text("denials");
  const bool show = when == "always" || (when != "never" && isatty(STDERR_FILENO) == 1);
  return show ? ShowDenials::kAlways : ShowDenials::kNever;
}

std::vector<std::string> DenialLines(const std::vector<supervisor::v1::Denial>& denials,
                                     uint32_t total) {
  std::vector<std::string> lines;
  for (const auto& denial : denials) lines.push_back(DenialLine(denial));
  if (total > denials.size()) {
    lines.push_back("denied: " + std::to_string(total - denials.size()) + " more");
  }
  return lines;
}

}  // namespace odyssey::ctl
