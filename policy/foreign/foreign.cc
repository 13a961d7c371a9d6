#include "policy/foreign/foreign.h"

#include "policy/foreign/writers.h"

namespace odyssey::foreign {

namespace {

// A name of a file can have a line feed, which would end the comment.
std::string WithoutControls(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace

std::string_view EffectName(Effect effect) {
  switch (effect) {
    case Effect::kWeaker:
      return "weaker";
    case Effect::kStricter:
      return "stricter";
    case Effect::kDifferent:
      return "different";
  }
  return "";
}

Result<Written> Write(const policy::SandboxRequest& request, const Variables& secrets,
                      System system) {
  if (policy::IsDanger(request)) {
    return InvalidArgument(
        "mode danger_full_access runs commands without a cell; there is nothing to export");
  }
  switch (system) {
    case System::kBwrap:
      return WriteBwrap(request, secrets);
    case System::kSeatbelt:
      return WriteSeatbelt(request);
    case System::kDockerRun:
      return WriteDockerRun(request, secrets);
    case System::kOpenShell:
      return WriteOpenShell(request);
    case System::kCodex:
      return WriteCodex(request, secrets);
  }
  return InvalidArgument("no such system");
}

std::string WithGaps(const Written& written) {
  std::string comments;
  for (const Gap& gap : written.gaps) {
    const std::string line =
        " " + std::string(EffectName(gap.effect)) + ": " + gap.item + ": " + gap.why;
    comments += written.comment + WithoutControls(line) + "\n";
  }
  const bool has_first = written.text.starts_with("#!");
  const size_t begin = has_first ? written.text.find('\n') + 1 : 0;
  return written.text.substr(0, begin) + comments + written.text.substr(begin);
}

}  // namespace odyssey::foreign
