#ifndef ODYSSEY_CTL_BUNDLE_BUNDLE_OUTPUT_H_
#define ODYSSEY_CTL_BUNDLE_BUNDLE_OUTPUT_H_

// What bundle commands write on the host, below directories that a person names and that a command
// in a cell may be writing meanwhile: each is walked once, and used by its descriptor.

#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "ctl/file/named_place.h"

namespace odyssey::ctl {

// A file that appears under its name whole, or not at all.
class OutputFile final {
 public:
  // `path`: the file, or a directory, in which it is `name`.
  static Result<OutputFile> Create(const std::string& path, const std::string& name);
  OutputFile(OutputFile&&) = default;
  // Removes what was not committed.
  ~OutputFile();

  Status Write(std::string_view bytes);
  Status Commit();
  // Where it is.
  std::string path() const;

 private:
  OutputFile(NamedPlace directory, std::string name, std::string temporary, UniqueFd fd);

  NamedPlace directory_;
  std::string name_;
  std::string temporary_;  // empty: committed, or moved from
  UniqueFd fd_;
};

// The bundle of a new author: manifest, agent.yaml, README.md, skills/, resources/. Makes the
// directory. ALREADY_EXISTS: one of them is there. Returns the bundle's id.
Result<std::string> InitBundle(const std::string& path);

struct Built {
  std::string id, version, digest;
  std::string path;  // D/local/ID/VERSION
};

// Packs the bundle in `source` and makes D/local/ID/VERSION, in place of what was built before.
Result<Built> BuildInto(const std::string& source, const std::string& output);

// "My Cool Bundle" → "my-cool-bundle"; of a name without letters and digits "hello-world". Pure.
std::string SlugOf(const std::string& name);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BUNDLE_BUNDLE_OUTPUT_H_
