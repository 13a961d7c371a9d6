#include "ctl/image/image_report.h"

#include <sys/utsname.h>

#include "common/base/refusal.h"
#include "common/message/message_json.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/signal_fd.h"
#include "ctl/image/image_signals.h"
#include "ctl/image/image_view.h"

namespace odyssey::ctl {

image::Platform OwnPlatform() {
  utsname machine{};
  ODY_CHECK(uname(&machine) == 0);
  return PlatformOf(machine.machine);
}

OptionSpec PlatformOption() {
  return {.name = "platform",
          .kind = ValueKind::kText,
          .value_name = "OS/ARCH",
          .help =
              "of several the image for this one, such as linux/arm64 (default: this "
              "machine's)"};
}

Result<image::Platform> ReadPlatform(const ParsedOptions& options) {
  if (!options.Has("platform")) return OwnPlatform();
  Result<image::Platform> platform = ParsePlatform(options.Text("platform"));
  if (platform.ok()) return platform;
  return Status(platform.status().code(), "--platform " + platform.status().message());
}

void PrintStored(const Console& console, const std::vector<NewImage>& images) {
  for (const NewImage& stored : images) {
    if (!console.json) {
      console.PrintLine(PinnedName(stored.image, stored.name));
      continue;
    }
    Json json = {{"name", stored.name}, {"sent_bytes", stored.sent}};
    json["image"] = message::ToJson(stored.image);
    console.PrintJson(json);
  }
}

Status InWords(const Status& status, const TypedWords& words) {
  constexpr std::string_view kStart = "start.";
  std::string_view field = status.detail().field;
  if (field.starts_with(kStart)) field.remove_prefix(kStart.size());
  std::string said(field);
  for (const auto& [name, word] : words) {
    if (field == name) said = word;
  }
  if (said == status.detail().field) return status;
  return WithMessage(said + ": " + std::string(WhyRefused(status)), status);
}

std::string NextStepOf(const Status& status, const std::string& advice) {
  if (status.detail().field != kProgramField) return advice;
  return "Install it: apt-get install " + status.detail().value;
}

int FailImage(const Console& console, Failure failure, const Status& status) {
  const int signal = PendingSignal(ImageSignals());
  if (status.code() == Code::kCancelled && signal != 0) return kExitSignalBase + signal;
  failure.next = NextStepOf(status, failure.next);
  return console.Fail(failure);
}

}  // namespace odyssey::ctl
