#include "ctl/base/pull_option.h"

namespace odyssey::ctl {

OptionSpec PullOption() {
  return {.name = "pull",
          .kind = ValueKind::kChoice,
          .value_name = "WHEN",
          .help =
              "an image HOST/NAME: missing (default): pull it where the store has none of the "
              "name; never",
          .choices = {"missing", "never"}};
}

PullWhen ReadPullOption(const ParsedOptions& options) {
  return options.Text("pull") == "never" ? PullWhen::kNever : PullWhen::kMissing;
}

}  // namespace odyssey::ctl
