#include "policy/dialect/llm_do.h"

#include <algorithm>

#include "common/base/control.h"
#include "policy/dialect/llm_do_rules.h"
#include "policy/dialect/manifest.h"
#include "policy/dialect/path_text.h"

namespace odyssey::dialect::llm_do {
namespace {

constexpr size_t kMaxPaths = 64;
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 40;

// `root_name` is `root`, or `path` in the plural form.
Path ReadPath(const Key& name, MapReader map, std::string_view root_name) {
  Path path{.name = name.name, .line = name.line, .key = map.KeyOf(root_name)};
  const Status named = CheckComponent("the name of a path", name.name);
  if (!named.ok()) map.source().Invalid(name.line, map.key(), named.message());
  if (const auto root = map.String(root_name, Need::kRequired)) {
    path.root = root->value;
    path.line = root->line;
    if (root->value.empty() || HasControl(root->value)) {
      map.source().Invalid(root->line, root->key,
                           "must be the path of a directory: `" + root->value + "`");
    }
  }
  path.access = map.Enum<policy::Access>(
      "mode", {{"ro", policy::Access::kReadOnly}, {"rw", policy::Access::kReadWrite}}, path.access);
  path.suffixes = ReadSuffixes(&map, "suffixes");
  path.max_file_bytes = map.Whole("max_file_bytes", 0, 1, kMaxFileBytes);
  path.write_approval = map.Bool("write_approval").value_or(true);
  path.read_approval = map.Bool("read_approval").value_or(false);
  map.Finish();
  return path;
}

void AddPath(Path path, const Source& source, Worker* worker) {
  const auto same = [&](const Path& other) { return other.name == path.name; };
  if (std::any_of(worker->paths.begin(), worker->paths.end(), same)) {
    source.Invalid(path.line, path.key, "the path `" + path.name + "` is named twice");
  }
  worker->paths.push_back(std::move(path));
}

void ReadSandboxSection(MapReader sandbox, Worker* worker) {
  for (const auto& [name, map] : sandbox.MapOfMaps("paths", kMaxPaths)) {
    AddPath(ReadPath(name, map, "root"), sandbox.source(), worker);
  }
  worker->network = sandbox.Bool("network").value_or(false);
  sandbox.Note("network", "network", &worker->origins);
  worker->require_os_sandbox = sandbox.Bool("require_os_sandbox");
  sandbox.Finish();
}

void ReadPlural(MapReader* document, Worker* worker) {
  for (const auto& [name, map] : document->MapOfMaps("sandboxes", kMaxPaths)) {
    document->source().Warn(
        name.line, map.key(),
        "`sandboxes` is deprecated: write sandbox.paths." + name.name + ", with `root` for `path`");
    AddPath(ReadPath(name, map, "path"), document->source(), worker);
  }
}

// What describes a worker to models and people, and changes nothing of what it may do.
void SkipDescriptions(MapReader* map, Worker* worker) {
  if (const auto name = map->String("name")) worker->name = name->value;
  for (const char* name : {"description", "instructions", "model", "compatible_models",
                           "output_schema_ref", "locked", "server_side_tools"}) {
    map->Any(name);
  }
}

}  // namespace

Worker ReadWorker(const Node& document, const Source& source) {
  Worker worker;
  MapReader map(&source, &document, "");
  SkipDescriptions(&map, &worker);
  ReadSandboxSection(map.Map("sandbox"), &worker);
  ReadPlural(&map, &worker);
  const MapReader attachments = map.Map("attachment_policy");
  if (attachments.present()) worker.attachments = ReadAttachmentPolicy(attachments);
  ReadRules(&map, &worker);
  map.Finish();
  return worker;
}

}  // namespace odyssey::dialect::llm_do
