#ifndef ODYSSEY_CTL_BUNDLE_BUNDLE_ARCHIVE_H_
#define ODYSSEY_CTL_BUNDLE_BUNDLE_ARCHIVE_H_

// The archive of a bundle that this program packs, or that agentd sends.

#include <functional>
#include <memory>
#include <string>

#include "agentd/package/layout_directory.h"
#include "common/base/status.h"
#include "common/rpc/h2_channel.h"
#include "ctl/bundle/bundle_upload.h"
#include "odyssey/agent/v1/bundle.pb.h"

namespace odyssey::ctl {

// A bundle that is packed here, in a directory that goes with this object.
struct Packed {
  std::unique_ptr<ScratchDirectory> scratch;
  package::LayoutDirectory layout;
  package::Parts parts;
};
Result<Packed> PackHere(const std::string& directory);
// What it will be installed as; no more.
agent::v1::Bundle DescribePacked(const package::Parts& parts, const std::string& path);
// All that can be said of a directory, with the digest that it will be installed with.
Result<agent::v1::Bundle> DescribeDirectory(const std::string& directory);

// Where the bytes go, told once which bundle they are.
using ArchiveOpener = std::function<Result<package::ByteSink>(const agent::v1::Bundle&)>;

Status WritePackedArchive(const std::string& directory, const ArchiveOpener& opener);
Status WriteInstalledArchive(const std::shared_ptr<rpc::H2Channel>& agentd,
                             const std::string& reference, const ArchiveOpener& opener);

inline constexpr char kArchiveSuffix[] = ".odyssey";
bool IsArchiveName(const std::string& path);

// "ns/id@version".
std::string NameOf(const agent::v1::Bundle& bundle);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BUNDLE_BUNDLE_ARCHIVE_H_
