#include "policy/dialect/ceiling_file.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "policy/ceiling/path_pattern.h"
#include "policy/dialect/node.h"
#include "policy/dialect/schema.h"
#include "policy/dialect/sha256_digest.h"
#include "policy/model/policy_keys.h"

namespace odyssey::dialect {
namespace {

using ceiling::Choice;
using ceiling::Grant;
using ceiling::Origin;

constexpr char kVersion[] = "odyssey.ceiling/v1";
constexpr size_t kMaxGrants = 256;
constexpr uint64_t kMaxImageQuotaMb = uint64_t{1} << 30;  // a PiB

// A key of a grant that lists values of a request's field. Those without a choice need no grant,
// and may be written down all the same.
struct ChoiceKey {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::optional<Choice>>> values;
};
const std::vector<ChoiceKey>& ChoiceKeys() {
  static const std::vector<ChoiceKey> keys = {
      {"network",
       {{"none", {}}, {"egress", Choice::kNetworkEgress}, {"full", Choice::kNetworkFull}}},
      {"executables",
       {{"explicit", {}},
        {"standard", {}},
        {"workspace", Choice::kWorkspaceExecutables},
        {"all", Choice::kAllExecutables}}},
      {"landlock", {{"hard_requirement", {}}, {"best_effort", Choice::kLandlockBestEffort}}},
      {"protection", {{"default", {}}, {"none", Choice::kProtectionNone}}},
      {"mode",
       {{"read_only", {}},
        {"workspace_write", {}},
        {"danger_full_access", Choice::kDangerFullAccess}}},
  };
  return keys;
}

// A name that may hold `*`; a lone digit at the front would name nothing.
Status CheckEnvPattern(const std::string& text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '*';
  };
  bool good = !text.empty() && letter(text[0]);
  for (const char c : text) good = good && (letter(c) || (c >= '0' && c <= '9'));
  return good
             ? OkStatus()
             : InvalidArgument("must be a variable's name, in which `*` stands for any characters");
}

std::vector<ceiling::Entry> ReadEntries(MapReader* map, std::string_view name,
                                        const std::function<Status(const std::string&)>& check) {
  std::vector<ceiling::Entry> entries;
  for (const Text& text : map->Strings(name)) {
    const Status status = check(text.value);
    if (!status.ok()) {
      map->source().Invalid(text.line, text.key, "`" + text.value + "` " + status.message());
    }
    entries.push_back({text.value, {map->source().file, text.line}});
  }
  return entries;
}

Status CheckPath(const std::string& text) { return ceiling::CheckPathPattern(text); }

std::vector<std::string> ReadUsers(MapReader* map, const std::string& of) {
  std::vector<std::string> users;
  for (const ceiling::Entry& entry : ReadEntries(map, "users", ceiling::CheckUserRule)) {
    users.push_back(entry.text);
  }
  if (users.empty()) {
    map->source().Invalid(map->line(), map->KeyOf("users"),
                          "missing: the users of the " + of + ", [\"*\"] for all");
  }
  return users;
}

void ReadChoices(MapReader* map, const ChoiceKey& key, Grant* grant) {
  std::vector<std::string_view> names;
  for (const auto& [name, choice] : key.values) names.push_back(name);
  for (const Text& text : map->Strings(key.name)) {
    bool known = false;
    for (const auto& [name, choice] : key.values) {
      if (name != text.value) continue;
      known = true;
      if (choice) {
        grant->choices[static_cast<size_t>(*choice)] = Origin{map->source().file, text.line};
      }
    }
    if (known) continue;
    map->source().Syntax(text.line, text.key,
                         "unknown variant `" + text.value + "`, expected one of " + Quoted(names));
  }
}

Grant ReadGrant(MapReader map) {
  Grant grant;
  grant.users = ReadUsers(&map, "grant");
  grant.read = ReadEntries(&map, "read", CheckPath);
  grant.review = ReadEntries(&map, "review", CheckPath);
  grant.write = ReadEntries(&map, "write", CheckPath);
  grant.env = ReadEntries(&map, "env", CheckEnvPattern);
  for (const ChoiceKey& key : ChoiceKeys()) ReadChoices(&map, key, &grant);
  map.Finish();
  return grant;
}

ceiling::Bounds ReadBounds(const Source& source, const Node* node, const std::string& name) {
  ceiling::Bounds bounds;
  MapReader map(&source, node, name);
  for (size_t i = 0; i < policy::kLimitCount; ++i) {
    const policy::Spelling& spelling = policy::kLimitKeys[i].ceiling;
    const uint64_t value = map.Whole(spelling.name, 0, spelling.least, spelling.most);
    if (value == 0) continue;
    bounds[i] = {value * spelling.unit, {source.file, Find(*node, spelling.name)->line}};
  }
  map.Finish();
  return bounds;
}

struct QuotaKey {
  std::string_view name;
  uint64_t most;
  uint64_t unit;
};
// By ceiling::Counted.
constexpr QuotaKey kQuotaKeys[ceiling::kCountedKinds] = {{"sessions", 1'000'000, 1},
                                                         {"cells", 1'000, 1},
                                                         {"turns", 10'000'000, 1},
                                                         {"disk_mb", 1'048'576, uint64_t{1} << 20}};

ceiling::QuotaRule ReadQuota(MapReader map) {
  ceiling::QuotaRule rule;
  rule.users = ReadUsers(&map, "quota");
  bool bounds = false;
  for (size_t i = 0; i < ceiling::kCountedKinds; ++i) {
    const QuotaKey& key = kQuotaKeys[i];
    const uint64_t value = map.Whole(key.name, 0, 1, key.most);
    if (value == 0) continue;
    bounds = true;
    rule.bounds[i] = {value * key.unit, {map.source().file, Find(*map.node(), key.name)->line}};
  }
  if (!bounds) {
    map.source().Invalid(
        map.line(), map.key(),
        "bounds nothing: one of `sessions`, `cells`, `turns`, `disk_mb` is needed");
  }
  map.Finish();
  return rule;
}

// A name of an image, in which `*` stands for any characters. `?` would stand for one.
Status CheckImagePattern(const std::string& text) {
  const bool good = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/:*").find(c) != std::string_view::npos;
  });
  return good ? OkStatus()
              : InvalidArgument("must be an image's name, in which `*` stands for any characters");
}

// One image whatever becomes of its name.
Status CheckPinnedImage(const std::string& text) {
  const size_t at = text.find('@');
  const std::string name = text.substr(0, at);
  const bool has_name = at != std::string::npos;
  const bool named = CheckImagePattern(name).ok() && name.find('*') == std::string::npos;
  if (IsSha256Digest(has_name ? text.substr(at + 1) : text) && (named || !has_name)) {
    return OkStatus();
  }
  return InvalidArgument(
      "must be NAME@sha256:HEX, HEX of 64 lower-case hex digits, or the digest alone");
}

Status CheckKeyFile(const std::string& text) {
  const bool plain = text.starts_with('/') && text.find('*') == std::string::npos;
  return plain && ceiling::CheckPathPattern(text).ok()
             ? OkStatus()
             : InvalidArgument("must be the absolute path of a file");
}

ceiling::SignedImages ReadSignedImages(MapReader map) {
  ceiling::SignedImages out;
  const std::pair<const char*, Status (*)(const std::string&)> keys[] = {
      {"name", CheckImagePattern}, {"key", CheckKeyFile}};
  for (const auto& [name, check] : keys) {
    const std::optional<Text> text = map.String(name, Need::kRequired);
    if (!text) continue;
    (std::string_view(name) == "name" ? out.name : out.key) = text->value;
    if (const Status status = check(text->value); !status.ok()) {
      map.source().Invalid(text->line, text->key, "`" + text->value + "` " + status.message());
    }
  }
  out.origin = {map.source().file, map.line()};
  map.Finish();
  return out;
}

ceiling::Images ReadImages(MapReader map) {
  ceiling::Images images;
  const uint64_t quota = map.Whole("quota_mb", 0, 1, kMaxImageQuotaMb);
  if (quota != 0) {
    images.quota = {quota << 20, {map.source().file, Find(*map.node(), "quota_mb")->line}};
  }
  for (const MapReader& rule : map.Maps("require", kMaxGrants)) {
    images.require.push_back(ReadSignedImages(rule));
  }
  if (const std::optional<Text> image = map.String("odek_default")) {
    images.odek_default = {image->value, {map.source().file, image->line}};
    if (const Status status = CheckPinnedImage(image->value); !status.ok()) {
      map.source().Invalid(image->line, image->key, "`" + image->value + "` " + status.message());
    }
  }
  map.Finish();
  return images;
}

}  // namespace

ceiling::Ceiling ReadCeiling(const std::string& file, std::string_view text, Problems* problems) {
  ceiling::Ceiling out;
  const std::optional<Node> document = ParseDocument(Format::kYaml, file, text, problems);
  if (!document) return out;
  // A bound that was left empty, or commented out below its key, would bound nothing.
  const Source source = {.file = file, .problems = problems, .null_is_absent = false};
  MapReader map(&source, &*document, "");
  map.Enum<bool>("version", {{kVersion, true}}, true, Need::kRequired);
  out.keeps_built_in = map.Bool("builtin").value_or(true);
  for (const MapReader& grant : map.Maps("grants", kMaxGrants)) {
    out.grants.push_back(ReadGrant(grant));
  }
  out.forbidden = ReadEntries(&map, "forbidden", CheckPath);
  MapReader limits = map.Map("limits");
  out.most = ReadBounds(source, limits.Any("max"), "limits.max");
  out.unset = ReadBounds(source, limits.Any("default"), "limits.default");
  limits.Finish();
  for (const MapReader& quota : map.Maps("quotas", kMaxGrants)) {
    out.quotas.push_back(ReadQuota(quota));
  }
  out.images = ReadImages(map.Map("images"));
  map.Finish();
  return out;
}

}  // namespace odyssey::dialect
