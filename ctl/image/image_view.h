#ifndef ODYSSEY_CTL_IMAGE_IMAGE_VIEW_H_
#define ODYSSEY_CTL_IMAGE_IMAGE_VIEW_H_

// Images for people and for programs. The image's author wrote most of it: nothing of that reaches
// a terminal as it is. Pure.

#include <string>

#include "ctl/base/console.h"
#include "odyssey/supervisor/v1/image.pb.h"

namespace odyssey::ctl {

// A row an image and name, then what of the quota is used. `owners`: a column for them.
std::string ImageTable(const supervisor::v1::ListImagesResponse& response, bool owners);

// Lines of "what  value".
std::string ImageText(const supervisor::v1::ImageInfo& image);

// With manifest and config as the JSON that they are.
Json ImageJson(const supervisor::v1::InspectImageResponse& response);

// "NAME@sha256:…", or the digest of one without a name: what a command that made it prints.
std::string PinnedName(const supervisor::v1::ImageInfo& image, const std::string& name);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_IMAGE_VIEW_H_
