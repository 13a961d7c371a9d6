#ifndef ODYSSEY_CTL_IMAGE_IMAGE_REPORT_H_
#define ODYSSEY_CTL_IMAGE_IMAGE_REPORT_H_

// What `image pull` and `image load` share around the store: the platform, and how they end.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctl/base/console.h"
#include "ctl/base/option_parser.h"
#include "ctl/client/client.h"
#include "ctl/image/image_import.h"
#include "ctl/image/registry_reference.h"

namespace odyssey::ctl {

// This machine's.
image::Platform OwnPlatform();

OptionSpec PlatformOption();
// --platform, else this machine's. INVALID_ARGUMENT names the option.
Result<image::Platform> ReadPlatform(const ParsedOptions& options);

// An image that is in the store now.
struct NewImage {
  std::string name;  // as it was asked for; "": none
  supervisor::v1::ImageInfo image;
  uint64_t sent = 0;  // bytes of layers
};

// One line each, or with -o json one object each.
void PrintStored(const Console& console, const std::vector<NewImage>& images);

// Fields of the store's requests, and what a person typed for them.
using TypedWords = std::vector<std::pair<std::string_view, std::string>>;
// A refusal of such a field, in these words; of another field of `start`, without that. Pure.
Status InWords(const Status& status, const TypedWords& words);

// What to do about a failure: how to install a program that is missing, or `advice`.
std::string NextStepOf(const Status& status, const std::string& advice);

// Reports a failure, with how to install a program that is missing; of an interrupted call nothing.
// Returns the exit code.
int FailImage(const Console& console, Failure failure, const Status& status);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_IMAGE_REPORT_H_
