#include "policy/dialect/openshell.h"

#include <charconv>

#include "common/base/control.h"
#include "policy/dialect/openshell_rules.h"
#include "policy/dialect/path_text.h"

namespace odyssey::dialect::openshell {
namespace {

constexpr size_t kMaxPaths = 256;
constexpr size_t kMaxPathBytes = 4096;
constexpr uint64_t kMaxId = 4294967294;

std::string PathProblem(const std::string& path, policy::Access access) {
  if (path.empty() || path[0] != '/') return "must be an absolute path";
  if (path.size() > kMaxPathBytes) return "must have at most 4096 bytes";
  if (HasParent(path)) return "must not hold `..`";
  if (HasControl(path)) return "must not hold control characters";
  if (path.find_first_of("*?[") != std::string::npos) return "must be a path, not a pattern";
  if (CleanPath(path) != "/") return "";
  return access == policy::Access::kReadWrite
             ? "read-write path is overly broad: name what is to be written"
             : "is the whole host: name what is to be read";
}

void ReadPaths(MapReader* map, std::string_view name, policy::Access access, Document* out) {
  for (const Text& text : map->Strings(name)) {
    const std::string problem = PathProblem(text.value, access);
    if (!problem.empty()) {
      map->source().Invalid(text.line, text.key, problem + ": `" + text.value + "`");
    } else {
      out->paths.push_back({CleanPath(text.value), access, text.line, text.key});
    }
  }
}

void ReadFilesystem(MapReader map, Document* out) {
  if (!map.present()) return;
  out->include_workdir = map.Bool("include_workdir").value_or(false);
  map.Note("include_workdir", "workspace", &out->origins);
  ReadPaths(&map, "read_only", policy::Access::kReadOnly, out);
  ReadPaths(&map, "read_write", policy::Access::kReadWrite, out);
  if (out->paths.size() > kMaxPaths) {
    map.source().Invalid(map.line(), map.key(),
                         std::to_string(out->paths.size()) +
                             " paths: at most 256 in read_only and read_write together");
  }
  map.Finish();
}

// 0 for `sandbox` and where nothing is said.
uint32_t ReadId(MapReader* map, std::string_view name) {
  const Node* node = map->Any(name);
  if (node == nullptr || (node->kind == NodeKind::kString && node->text == "sandbox")) return 0;
  uint64_t id = 0;
  const char* const end = node->text.data() + node->text.size();
  const auto [stop, error] = std::from_chars(node->text.data(), end, id);
  const bool text = node->kind == NodeKind::kNumber || node->kind == NodeKind::kString;
  if (text && error == std::errc() && stop == end && id >= 1 && id <= kMaxId) {
    return static_cast<uint32_t>(id);
  }
  map->source().Invalid(node->line, map->KeyOf(name),
                        "must be 'sandbox' or a numeric UID/GID in range 1 to 4294967294; root is "
                        "refused" +
                            (text ? ": `" + node->text + "`" : ""));
  return 0;
}

void ReadProcess(MapReader map, Document* out) {
  if (!map.present()) return;
  out->user = ReadId(&map, "run_as_user");
  map.Note("run_as_user", "user", &out->origins);
  const uint32_t group = ReadId(&map, "run_as_group");
  if (group != 0 && group != out->user) {
    map.source().Invalid(map.line(), map.KeyOf("run_as_group"),
                         "must be `sandbox`, or the number in run_as_user: a cell's group has the "
                         "number of its user, not `" +
                             std::to_string(group) + "`");
  }
  map.Finish();
}

void ReadLandlock(MapReader map, Document* out) {
  if (!map.present()) return;
  const policy::Landlock said =
      map.Enum<policy::Landlock>("compatibility",
                                 {{"best_effort", policy::Landlock::kBestEffort},
                                  {"hard_requirement", policy::Landlock::kHardRequirement}},
                                 policy::Landlock::kHardRequirement);
  if (Find(*map.node(), "compatibility") != nullptr) out->landlock = said;
  map.Note("compatibility", "landlock", &out->origins);
  map.Finish();
}

// Routing of inference requests left the format; files still have it.
void ReadInference(MapReader map) {
  if (!map.present()) return;
  map.Strings("allowed_routes");
  map.Finish();
  map.source().Warn(map.line(), map.key(),
                    "deprecated: routes of inference requests are no part of a policy");
}

void ReadVersion(MapReader* map) {
  const Node* version = map->Any("version", Need::kRequired);
  if (version == nullptr) return;
  if (version->kind == NodeKind::kNumber && version->text == "1") return;
  map->source().Syntax(version->line, "version",
                       "must be the number 1, not " +
                           (version->kind == NodeKind::kNumber ? version->text : Found(*version)));
}

}  // namespace

Document ReadDocument(const Node& document, const Source& source) {
  Document out;
  MapReader map(&source, &document, "");
  ReadVersion(&map);
  ReadFilesystem(map.Map("filesystem_policy"), &out);
  ReadLandlock(map.Map("landlock"), &out);
  ReadProcess(map.Map("process"), &out);
  out.network = ReadNetwork(&map);
  map.Note("network_policies", "network", &out.origins);
  ReadInference(map.Map("inference"));
  map.Finish();
  return out;
}

}  // namespace odyssey::dialect::openshell
