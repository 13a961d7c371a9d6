#include "ctl/bundle/bundle_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <utility>

#include "agentd/package/installation.h"
#include "agentd/package/pack.h"
#include "agentd/package/unpack.h"
#include "common/oci/digest.h"
#include "common/os/file.h"
#include "ctl/bundle/bundle_upload.h"

namespace odyssey::ctl {
namespace {

constexpr char kDefaultId[] = "hello-world";
constexpr size_t kMaxIdBytes = 64;

struct Starter {
  const char* name;
  const char* text;  // ID stands for the bundle's id
};

constexpr std::array<Starter, 3> kStarters = {{
    {"odyssey.bundle.json5",
     R"({
  id: "ID",
  version: "0.1.0",
  manifest_version: "odyssey.bundle/v1",
  readme: "README.md",
  agent_spec: "agent.yaml",
  executor: { type: "prebuilt", id: "react" },
  memory: { type: "prebuilt", id: "sliding_window", config: { max_window: 100 } },
  // Skills of skills/: { name: "x", path: "skills/x" } with skills/x/SKILL.md in it.
  skills: [],
  tools: [
TOOLS  ],
  sandbox: {
    mode: "read_only",
    env: {},
    permissions: {
      filesystem: { exec: [], mounts: { read: [], write: [] } },
      network: ["*"],
    },
    system_tools_mode: "standard",
    system_tools: [],
    resources: { cpu: 1, memory_mb: 512 },
  },
}
)"},
    {"agent.yaml", R"(id: ID
description: A helpful assistant.
prompt: |
  You are a helpful assistant.
model:
  provider: openai
  name: gpt-4.1-mini
tools:
  allow: []
  ask: []
  deny: []
)"},
    {"README.md", "# ID\n\nWhat this agent does, and what it needs.\n"},
}};

std::string Replaced(std::string text, const std::string& word, const std::string& value) {
  for (size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + value.size())) {
    text.replace(at, word.size(), value);
  }
  return text;
}

// Of every version; Job comes with Bash.
constexpr auto kFirstTools = std::to_array<std::string_view>(
    {"Bash", "Edit", "Glob", "Grep", "LS", "Read", "Skill", "Write"});

std::string ToolLines() {
  std::string out;
  for (const std::string_view tool : kFirstTools) {
    out += "    { name: \"" + std::string(tool) + "\", source: \"builtin\" },\n";
  }
  return out;
}

Status WriteNewFile(int directory, const std::string& name, const std::string& text,
                    const std::string& shown) {
  const UniqueFd fd(openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) return ErrnoStatus(errno, "create " + shown + "/" + name);
  return WriteAll(fd.get(), text);
}

Status CheckNotThere(int directory, const std::string& name, const std::string& shown) {
  struct stat info;
  if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return OkStatus();
  return AlreadyExists(shown + "/" + name + " is there already");
}

// The last component that names something.
std::string NameOf(const NamedPlace& directory) {
  return std::filesystem::path(directory.name()).filename().string();
}

std::string ByDescriptor(const NamedPlace& place) {
  return "/proc/self/fd/" + std::to_string(place.fd());
}

// Made in the directory itself, so that it can be renamed into place.
class OutputStaging final {
 public:
  static Result<OutputStaging> Make(const NamedPlace& parent) {
    std::string path = ByDescriptor(parent) + "/.build-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      return ErrnoStatus(errno, "create a directory in " + parent.name());
    }
    return OutputStaging(path);
  }
  OutputStaging(OutputStaging&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ~OutputStaging() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string name() const { return path_.substr(path_.rfind('/') + 1); }

 private:
  explicit OutputStaging(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// In place of what an earlier build made; of anything else ALREADY_EXISTS.
Status Place(const NamedPlace& parent, const std::string& made, const std::string& name) {
  const std::string shown = parent.name() + "/" + name;
  if (renameat2(parent.fd(), made.c_str(), parent.fd(), name.c_str(), RENAME_NOREPLACE) == 0) {
    return OkStatus();
  }
  if (errno != EEXIST) return ErrnoStatus(errno, "rename to " + shown);
  if (!package::ReadMetadata(ByDescriptor(parent) + "/" + name)) {
    return AlreadyExists(shown + " is there, and no bundle was built into it; remove it");
  }
  if (renameat2(parent.fd(), made.c_str(), parent.fd(), name.c_str(), RENAME_EXCHANGE) != 0) {
    return ErrnoStatus(errno, "exchange " + shown);
  }
  return OkStatus();
}

}  // namespace

OutputFile::OutputFile(NamedPlace directory, std::string name, std::string temporary, UniqueFd fd)
    : directory_(std::move(directory)),
      name_(std::move(name)),
      temporary_(std::move(temporary)),
      fd_(std::move(fd)) {}

OutputFile::~OutputFile() {
  if (fd_ && !temporary_.empty()) unlinkat(directory_.fd(), temporary_.c_str(), 0);
}

Result<OutputFile> OutputFile::Create(const std::string& path, const std::string& name) {
  Walk walk = WalkPath(path);
  if (walk.place && !walk.place->is_directory()) walk.place.reset();
  std::string file = name;
  if (!walk.place) {
    ODY_ASSIGN_OR_RETURN(NamedEntry entry, OpenDirectoryOf(path));
    walk.place = std::move(entry.directory);
    file = entry.name;
  }
  const std::string temporary = "." + file + "." + std::to_string(getpid());
  UniqueFd fd(openat(walk.place->fd(), temporary.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd) return ErrnoStatus(errno, "create " + walk.place->name() + "/" + temporary);
  return OutputFile(*std::move(walk.place), file, temporary, std::move(fd));
}

Status OutputFile::Write(std::string_view bytes) { return WriteAll(fd_.get(), bytes); }

Status OutputFile::Commit() {
  if (fsync(fd_.get()) != 0) return ErrnoStatus(errno, "sync " + path());
  if (renameat(directory_.fd(), temporary_.c_str(), directory_.fd(), name_.c_str()) != 0) {
    return ErrnoStatus(errno, "rename to " + path());
  }
  temporary_.clear();
  return OkStatus();
}

std::string OutputFile::path() const { return directory_.name() + "/" + name_; }

std::string SlugOf(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 0x80;
    if (plain) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  out = out.substr(0, kMaxIdBytes);
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? kDefaultId : out;
}

Result<std::string> InitBundle(const std::string& path) {
  NamedPlaces places;
  ODY_ASSIGN_OR_RETURN(const NamedPlace* directory, places.Make(path, 0755));
  const std::string id = SlugOf(NameOf(*directory));
  for (const Starter& starter : kStarters) {
    ODY_RETURN_IF_ERROR(CheckNotThere(directory->fd(), starter.name, directory->name()));
  }
  for (const char* name : {"skills", "resources"}) {
    if (mkdirat(directory->fd(), name, 0755) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, "create " + directory->name() + "/" + name);
    }
  }
  for (const Starter& starter : kStarters) {
    const std::string text = Replaced(Replaced(starter.text, "ID", id), "TOOLS", ToolLines());
    ODY_RETURN_IF_ERROR(WriteNewFile(directory->fd(), starter.name, text, directory->name()));
  }
  return id;
}

Result<Built> BuildInto(const std::string& source, const std::string& output) {
  ODY_ASSIGN_OR_RETURN(const std::unique_ptr<ScratchDirectory> scratch, ScratchDirectory::Make());
  ODY_ASSIGN_OR_RETURN(const package::LayoutDirectory layout,
                       package::LayoutDirectory::Create(scratch->path() + "/layout"));
  ODY_ASSIGN_OR_RETURN(const package::Parts parts, PackNamed(source, layout));
  const oci::Config& config = parts.config;
  NamedPlaces places;
  ODY_ASSIGN_OR_RETURN(const NamedPlace* parent,
                       places.Make(output + "/" + config.ns + "/" + config.id, 0755));
  ODY_ASSIGN_OR_RETURN(const OutputStaging staging, OutputStaging::Make(*parent));
  const std::string made = staging.path() + "/" + config.version;
  ODY_RETURN_IF_ERROR(package::UnpackBundle(layout, parts, made));
  ODY_RETURN_IF_ERROR(package::AddMetadata(layout, parts, made));
  ODY_RETURN_IF_ERROR(Place(*parent, staging.name() + "/" + config.version, config.version));
  return Built{config.id, config.version, oci::DigestOf(parts.manifest_blob.digest),
               parent->name() + "/" + config.version};
}

}  // namespace odyssey::ctl
