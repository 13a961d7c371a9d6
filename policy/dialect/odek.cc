#include "policy/dialect/odek.h"

#include <algorithm>
#include <functional>

namespace odyssey::dialect::odek {
namespace {

constexpr char kEnvironmentFile[] = "environment";
constexpr char kSandboxKey[] = "sandbox";
constexpr char kReadonlyKey[] = "sandbox_readonly";
constexpr char kImageKey[] = "sandbox_image";
constexpr char kNetworkKey[] = "sandbox_network";
constexpr char kUserKey[] = "sandbox_user";

std::optional<Word> ReadWord(MapReader* map, std::string_view name) {
  std::optional<Text> text = map->String(name);
  if (!text || text->value.empty()) return std::nullopt;
  return Word{text->value, PlaceOf(map->source(), *text)};
}

std::optional<Flag> ReadFlag(MapReader* map, std::string_view name) {
  const std::optional<bool> value = map->Bool(name);
  if (!value) return std::nullopt;
  const Node* node = Find(*map->node(), name);
  return Flag{*value, {map->source().file, node->line, map->KeyOf(name)}};
}

// "${A} ${B}": what a value takes of the client's variables. The rest may be a secret, and is told
// nobody.
std::string ReferencesIn(const std::string& value) {
  std::string out;
  for (size_t open = value.find("${"); open != std::string::npos;
       open = value.find("${", open + 2)) {
    const size_t close = value.find('}', open);
    if (close == std::string::npos) break;
    out += (out.empty() ? "" : " ") + value.substr(open, close + 1 - open);
  }
  return out;
}

void ReadEnv(MapReader* map, Config* out) {
  const Node* node = Find(*map->node(), "sandbox_env");
  const auto members = map->StringMap("sandbox_env");
  if (node == nullptr || node->kind != NodeKind::kMap) return;
  out->env.emplace();
  for (const auto& [key, text] : members) {
    Place place = PlaceOf(map->source(), text);
    place.written = ReferencesIn(text.value);
    (*out->env)[key.name] = {text.value, std::move(place)};
  }
}

void ReadVolumes(MapReader* map, Config* out) {
  const Node* node = Find(*map->node(), "sandbox_volumes");
  const std::vector<Text> texts = map->Strings("sandbox_volumes");
  if (node == nullptr || node->kind != NodeKind::kList) return;
  out->volumes.emplace();
  for (const Text& text : texts) {
    out->volumes->push_back({text.value, PlaceOf(map->source(), text)});
  }
}

// As Go reads a boolean; nullopt for anything else.
std::optional<bool> ParseBool(const std::string& text) {
  static constexpr std::string_view kYes[] = {"1", "t", "T", "true", "True", "TRUE"};
  static constexpr std::string_view kNo[] = {"0", "f", "F", "false", "False", "FALSE"};
  if (std::find(std::begin(kYes), std::end(kYes), text) != std::end(kYes)) return true;
  if (std::find(std::begin(kNo), std::end(kNo), text) != std::end(kNo)) return false;
  return std::nullopt;
}

std::optional<Flag> ToFlag(const std::optional<Word>& word, const Source& source) {
  if (!word) return std::nullopt;
  const std::optional<bool> value = ParseBool(word->value);
  if (value) return Flag{*value, word->place};
  At(source, word->place)
      .Invalid(0, word->place.key, "must be true or false: `" + word->value + "`");
  return std::nullopt;
}

// "sandbox_cpus" → "ODEK_SANDBOX_CPUS".
std::string VariableOf(std::string_view name) {
  std::string out = "ODEK_";
  for (const char c : name) {
    out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

// What a layer that has no file says of a key.
using WordFinder = std::function<std::optional<Word>(std::string_view key)>;

Config ReadWords(const WordFinder& find, const Source& source) {
  Config out;
  out.sandbox = ToFlag(find(kSandboxKey), source);
  out.readonly = ToFlag(find(kReadonlyKey), source);
  out.image = find(kImageKey);
  out.network = find(kNetworkKey);
  for (size_t i = 0; i < policy::kLimitCount; ++i) {
    const std::string_view name = policy::kLimitKeys[i].foreign.odek.name;
    if (name != policy::kNone) out.limits[i] = find(name);
  }
  out.user = find(kUserKey);
  return out;
}

// "--sandbox-image".
std::string FlagOf(std::string_view key) {
  std::string out = "--";
  for (const char c : key) out += c == '_' ? '-' : c;
  return out;
}

template <typename T>
void Override(const std::optional<T>& upper, std::optional<T>* lower) {
  if (upper) *lower = upper;
}

// Whether the project may say it: what it would weaken stays as it is.
bool MayLower(const std::optional<Flag>& flag, Origin origin, const Source& source) {
  if (!flag || flag->value || origin != Origin::kProject) return true;
  At(source, flag->place)
      .Warn(flag->place.line, flag->place.key, "a project's file cannot turn it off: ignored");
  return false;
}

}  // namespace

Source At(const Source& source, const Place& place) {
  Source other = source;
  other.file = place.file;
  return other;
}

Config ReadConfig(const Node& document, const Source& source) {
  Config out;
  MapReader map(&source, &document, "");
  if (!map.present()) return out;
  out.sandbox = ReadFlag(&map, kSandboxKey);
  out.readonly = ReadFlag(&map, kReadonlyKey);
  out.image = ReadWord(&map, kImageKey);
  out.network = ReadWord(&map, kNetworkKey);
  for (size_t i = 0; i < policy::kLimitCount; ++i) {
    const std::string_view name = policy::kLimitKeys[i].foreign.odek.name;
    if (name != policy::kNone) out.limits[i] = ReadWord(&map, name);
  }
  out.user = ReadWord(&map, kUserKey);
  ReadEnv(&map, &out);
  ReadVolumes(&map, &out);
  for (const Key& key : document.keys) {
    if (key.name.rfind("sandbox", 0) == 0) continue;
    map.Any(key.name);  // of another subject, and with a reader of its own
    out.others.push_back(key.name);
  }
  map.Finish();
  return out;
}

Config ReadEnvironment(const PolicyContext& context, const Source& source,
                       std::vector<std::string>* read) {
  const WordFinder find = [&](std::string_view key) -> std::optional<Word> {
    const std::string name = VariableOf(key);
    std::optional<std::string> value = context.Variable(name);
    if (!value || value->empty()) return std::nullopt;
    read->push_back(name);
    const std::string written = *value;
    return Word{*std::move(value), {kEnvironmentFile, 0, name, written}};
  };
  return ReadWords(find, source);
}

Config ReadFlags(const PolicyContext& context, const Source& source) {
  const WordFinder find = [&](std::string_view key) -> std::optional<Word> {
    const auto found = context.odek_flags.find(std::string(key));
    if (found == context.odek_flags.end() || found->second.empty()) return std::nullopt;
    return Word{found->second, {"", 0, FlagOf(key), found->second}};
  };
  return ReadWords(find, source);
}

Config Merge(const Config& lower, const Config& upper, Origin origin, const Source& source) {
  Config out = lower;
  if (MayLower(upper.sandbox, origin, source)) Override(upper.sandbox, &out.sandbox);
  if (MayLower(upper.readonly, origin, source)) Override(upper.readonly, &out.readonly);
  Override(upper.image, &out.image);
  Override(upper.network, &out.network);
  for (size_t i = 0; i < policy::kLimitCount; ++i) Override(upper.limits[i], &out.limits[i]);
  Override(upper.user, &out.user);
  Override(upper.env, &out.env);
  Override(upper.volumes, &out.volumes);
  out.others.insert(out.others.end(), upper.others.begin(), upper.others.end());
  return out;
}

}  // namespace odyssey::dialect::odek
