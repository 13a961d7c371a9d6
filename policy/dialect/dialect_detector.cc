#include "policy/dialect/dialect_detector.h"

#include <algorithm>

namespace odyssey::dialect {
namespace {

constexpr size_t kShownKeys = 8;
constexpr char kExpected[] =
    "; expected `policy_version` (odyssey.policy/v1), `manifest_version` "
    "(odyssey.bundle/v1), `apiVersion` (odyssey.ai/bundle.v1), `version: 1` with "
    "`filesystem_policy`, `network_policies` and their like (OpenShell), `sandbox_…` (odek), or "
    "`sandbox` with `paths` (llm-do)";

struct Markers {
  Dialect dialect;
  std::vector<std::string_view> keys;
};

const std::vector<Markers>& AllMarkers() {
  static const std::vector<Markers> all = {
      {Dialect::kManifest, {"agent_spec", "executor"}},
      {Dialect::kOpenShell,
       {"filesystem_policy", "landlock", "process", "network_policies", "network_middlewares"}},
      {Dialect::kLlmDo,
       {"sandboxes", "attachment_policy", "tool_rules", "shell_rules", "toolsets", "instructions"}},
      {Dialect::kOdek, {}},  // see MarkerOf
  };
  return all;
}

bool Is(const Node& document, std::string_view name, NodeKind kind) {
  const Node* node = Find(document, name);
  return node != nullptr && node->kind == kind;
}

// The first key of the document that only this dialect has, "".
std::string MarkerOf(const Markers& markers, const Node& document) {
  for (const Key& key : document.keys) {
    const auto& keys = markers.keys;
    if (std::find(keys.begin(), keys.end(), key.name) != keys.end()) return key.name;
    const bool odek = markers.dialect == Dialect::kOdek;
    if (odek && key.name.rfind("sandbox_", 0) == 0) return key.name;
    if (key.name != "sandbox") continue;
    if (odek && Is(document, "sandbox", NodeKind::kBool)) return key.name;
    const bool worker = markers.dialect == Dialect::kLlmDo;
    if (worker && Is(document, "sandbox", NodeKind::kMap)) return key.name;
  }
  return "";
}

std::optional<Detected> ByApiVersion(const Node& version, const Source& source) {
  if (version.text == "odyssey.ai/bundle.v1") return Detected{Dialect::kBundle};
  if (version.text == "odyssey.ai/v1") return Detected{Dialect::kBundle, true};
  source.Syntax(version.line, "apiVersion",
                "unknown variant `" + version.text +
                    "`, expected one of `odyssey.ai/bundle.v1`, `odyssey.ai/v1`");
  return std::nullopt;
}

bool IsOdekName(const std::string& path) {
  const auto ends = [&](std::string_view end) {
    if (path.size() < end.size()) return false;
    const size_t at = path.size() - end.size();
    return path.compare(at, end.size(), end) == 0 && (at == 0 || path[at - 1] == '/');
  };
  return ends("odek.json") || ends(".odek/config.json");
}

void ReportUnknown(const Node& document, const Source& source) {
  std::vector<std::string_view> keys;
  for (const Key& key : document.keys) {
    if (keys.size() < kShownKeys) keys.push_back(key.name);
  }
  const std::string has = document.kind != NodeKind::kMap
                              ? "is " + std::string(KindName(document.kind))
                          : keys.empty() ? "is an empty map"
                                         : "has the keys " + Quoted(keys);
  source.Syntax(document.line, "",
                "no known kind of policy: it " + has +
                    (document.keys.size() > keys.size() ? ", …" : "") + kExpected);
}

// Where no key decides.
std::optional<Detected> Otherwise(const Node& document, const std::string& path,
                                  const Source& source) {
  if (Is(document, "prompt", NodeKind::kString)) return Detected{Dialect::kManifest, true};
  if (IsOdekName(path)) return Detected{Dialect::kOdek};
  if (Is(document, "version", NodeKind::kNumber)) return Detected{Dialect::kOpenShell};
  ReportUnknown(document, source);
  return std::nullopt;
}

}  // namespace

std::optional<Detected> DetectDialect(const Node& document, const std::string& path,
                                      const Source& source) {
  if (document.kind != NodeKind::kMap) {
    ReportUnknown(document, source);
    return std::nullopt;
  }
  if (Find(document, "policy_version") != nullptr) return Detected{Dialect::kOdyssey};
  if (Find(document, "manifest_version") != nullptr) return Detected{Dialect::kManifest};
  if (const Node* version = Find(document, "apiVersion")) return ByApiVersion(*version, source);

  std::optional<Detected> found;
  std::string marker;
  for (const Markers& markers : AllMarkers()) {
    const std::string key = MarkerOf(markers, document);
    if (key.empty()) continue;
    if (found) {
      source.Syntax(document.line, key,
                    "is a key of " + std::string(DialectName(markers.dialect)) + ", and `" +
                        marker + "` one of " + std::string(DialectName(found->dialect)) +
                        ": a file is of one kind");
      return std::nullopt;
    }
    found = Detected{markers.dialect};
    marker = key;
  }
  return found ? found : Otherwise(document, path, source);
}

}  // namespace odyssey::dialect
