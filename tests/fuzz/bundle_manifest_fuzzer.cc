// A manifest is written by whoever wrote the bundle: whatever it says, no crash, and it names
// nothing as found that is not there. The first byte chooses the format; the project is an empty
// directory.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "policy/dialect/manifest.h"
#include "policy/dialect/node.h"
#include "policy/dialect/project_root.h"
#include "policy/dialect/sandbox_request.h"
#include "policy/dialect/schema.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace dialect = odyssey::dialect;
  if (size == 0) return 0;
  const dialect::Format format =
      data[0] % 2 == 0 ? dialect::Format::kJson5 : dialect::Format::kYaml;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  dialect::Problems problems;
  const auto document = dialect::ParseDocument(format, "manifest", text, &problems);
  if (!document) return 0;

  const dialect::Source source{"manifest",
                               format == dialect::Format::kJson5 ? dialect::ProblemKind::kJson5
                                                                 : dialect::ProblemKind::kYaml,
                               &problems};
  const dialect::Manifest manifest =
      dialect::ReadManifest(*document, source, dialect::ProjectRoot("/nonexistent"));
  ODY_CHECK(!problems.empty());  // a manifest without an agent that exists is never right
  ODY_CHECK(manifest.bundle.readme_path.empty());
  for (const dialect::AgentEntry& agent : manifest.agents) ODY_CHECK(agent.path.empty());

  const dialect::RequestContext context = {.client_cwd = "/home/user",
                                           .bundle_directory = "/srv/bundle"};
  const auto request = dialect::ToRequest(manifest.bundle.sandbox, context);
  ODY_CHECK(request.ok() || !request.status().message().empty());
  return 0;
}
