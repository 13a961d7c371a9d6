#include "policy/dialect/schema.h"

#include <algorithm>
#include <charconv>

#include "policy/model/tool_table.h"

namespace odyssey::dialect {
namespace {

constexpr size_t kShownBytes = 60;

// "" for a list or a map.
std::string WrittenOf(const Node& node) {
  return node.kind == NodeKind::kBool ? node.boolean ? "true" : "false" : node.text;
}

bool IsWhole(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// What to do about a value of another kind, if it can be told; begins with ": ".
std::string Remedy(NodeKind wanted, const Node& found) {
  if (wanted == NodeKind::kString) {
    const bool plain = found.kind == NodeKind::kNumber || found.kind == NodeKind::kBool;
    return plain ? ": put it in quotes" : "";
  }
  if (found.kind != NodeKind::kString) return "";
  const std::string& text = found.text;
  const bool quoted = (wanted == NodeKind::kNumber && IsWhole(text)) ||
                      (wanted == NodeKind::kBool && (text == "true" || text == "false"));
  if (quoted) return ": leave the quotes out";
  if (wanted == NodeKind::kList && text.substr(0, 1) == "-")
    return ": a `-` needs a space after it";
  // "mode read_only", "mode:read_only"
  const bool key = text.find_first_of(": ") != std::string::npos;
  return wanted == NodeKind::kMap && key ? ": a key needs `: ` after it" : "";
}

}  // namespace

std::string Found(const Node& node) {
  const std::string written = "`" + WrittenOf(node).substr(0, kShownBytes) + "`";
  if (node.kind == NodeKind::kBool) return written;
  const bool shown = node.kind == NodeKind::kString || node.kind == NodeKind::kNumber;
  return std::string(KindName(node.kind)) + (shown ? " (" + written + ")" : "");
}

std::string Quoted(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    text.append(text.empty() ? "`" : ", `").append(name).append("`");
  }
  return text;
}

std::string UnknownTool(const std::string& name) {
  std::vector<std::string_view> names;
  for (const policy::ToolRow& row : policy::kTools) names.emplace_back(row.name);
  return "unknown tool `" + name + "`, expected one of " + Quoted(names);
}

Place PlaceOf(const Source& source, const Text& text) {
  return source.At(text.line, text.key, text.value);
}

MapReader::MapReader(const Source* source, const Node* node, std::string key)
    : source_(source), node_(node), key_(std::move(key)) {
  if (node_ == nullptr || node_->kind == NodeKind::kMap) return;
  source_->Syntax(node_->line, key_,
                  "must be a map, not " + Found(*node_) + Remedy(NodeKind::kMap, *node_));
  node_ = nullptr;
}

std::string MapReader::KeyOf(std::string_view name) const {
  return key_.empty() ? std::string(name) : key_ + "." + std::string(name);
}

const Node* MapReader::Any(std::string_view name, Need need) {
  if (std::find(known_.begin(), known_.end(), name) == known_.end()) known_.emplace_back(name);
  if (node_ == nullptr) return nullptr;
  const Node* found = Find(*node_, name);
  if (found == nullptr && need == Need::kRequired) {
    source_->Syntax(node_->line, KeyOf(name), "missing field `" + std::string(name) + "`");
  }
  const bool null = found != nullptr && found->kind == NodeKind::kNull;
  return null && need == Need::kOptional && source_->null_is_absent ? nullptr : found;
}

const Node* MapReader::Typed(std::string_view name, NodeKind kind, Need need) {
  const Node* found = Any(name, need);
  if (found == nullptr || found->kind == kind) return found;
  source_->Syntax(
      found->line, KeyOf(name),
      "must be " + std::string(KindName(kind)) + ", not " + Found(*found) + Remedy(kind, *found));
  return nullptr;
}

std::optional<Text> MapReader::TextOf(const Node& node, const std::string& key) const {
  if (node.text.find('\0') == std::string::npos) return Text{node.text, node.line, key};
  source_->Syntax(node.line, key, "must not hold a NUL byte");
  return std::nullopt;
}

std::optional<Text> MapReader::String(std::string_view name, Need need) {
  const Node* found = Typed(name, NodeKind::kString, need);
  if (found == nullptr) return std::nullopt;
  return TextOf(*found, KeyOf(name));
}

std::vector<Text> MapReader::Strings(std::string_view name) {
  std::vector<Text> texts;
  const Node* list = Typed(name, NodeKind::kList, Need::kOptional);
  for (size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
    const Node& item = list->items[i];
    const std::string key = KeyOf(name) + "[" + std::to_string(i) + "]";
    if (item.kind != NodeKind::kString) {
      source_->Syntax(item.line, key,
                      "must be a string, not " + Found(item) + Remedy(NodeKind::kString, item));
    } else if (std::optional<Text> text = TextOf(item, key)) {
      texts.push_back(*std::move(text));
    }
  }
  return texts;
}

std::vector<MapReader::Entry> MapReader::Entries(std::string_view name) {
  std::vector<Entry> entries;
  const Node* list = Typed(name, NodeKind::kList, Need::kOptional);
  for (size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
    const Node& item = list->items[i];
    const std::string key = KeyOf(name) + "[" + std::to_string(i) + "]";
    if (item.kind == NodeKind::kMap) {
      entries.push_back({std::nullopt, MapReader(source_, &item, key)});
    } else if (item.kind != NodeKind::kString) {
      source_->Syntax(item.line, key,
                      "must be a string, not " + Found(item) + Remedy(NodeKind::kString, item));
    } else if (std::optional<Text> text = TextOf(item, key)) {
      entries.push_back({std::move(text), std::nullopt});
    }
  }
  return entries;
}

std::optional<bool> MapReader::Bool(std::string_view name) {
  const Node* found = Typed(name, NodeKind::kBool, Need::kOptional);
  if (found == nullptr) return std::nullopt;
  return found->boolean;
}

uint64_t MapReader::Whole(std::string_view name, uint64_t fallback, uint64_t least, uint64_t most,
                          std::string_view why) {
  const Node* found = Any(name);
  if (found == nullptr) return fallback;
  uint64_t value = 0;
  const char* const end = found->text.data() + found->text.size();
  const auto [stop, error] = std::from_chars(found->text.data(), end, value);
  const bool number = found->kind == NodeKind::kNumber;
  const bool whole = number && error == std::errc() && stop == end;
  if (whole && value >= least && value <= most) return value;
  const std::string message =
      "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most) +
      ", not " + (number ? found->text : Found(*found)) +
      (why.empty() ? Remedy(NodeKind::kNumber, *found) : ": " + std::string(why));
  if (number) {
    source_->Invalid(found->line, KeyOf(name), message);
  } else {
    source_->Syntax(found->line, KeyOf(name), message);
  }
  return fallback;
}

MapReader MapReader::Map(std::string_view name, Need need) {
  return MapReader(source_, Any(name, need), KeyOf(name));
}

std::vector<MapReader> MapReader::Maps(std::string_view name, size_t most) {
  std::vector<MapReader> maps;
  const Node* list = Typed(name, NodeKind::kList, Need::kOptional);
  if (list == nullptr) return maps;
  if (list->items.size() > most) {
    source_->Syntax(list->line, KeyOf(name), "more than " + std::to_string(most) + " entries");
    return maps;
  }
  for (size_t i = 0; i < list->items.size(); ++i) {
    const MapReader map(source_, &list->items[i], KeyOf(name) + "[" + std::to_string(i) + "]");
    if (map.present()) maps.push_back(map);
  }
  return maps;
}

std::vector<std::pair<Key, MapReader>> MapReader::MapOfMaps(std::string_view name, size_t most) {
  std::vector<std::pair<Key, MapReader>> maps;
  const Node* map = Typed(name, NodeKind::kMap, Need::kOptional);
  if (map == nullptr) return maps;
  if (map->items.size() > most) {
    source_->Syntax(map->line, KeyOf(name), "more than " + std::to_string(most) + " entries");
    return maps;
  }
  for (size_t i = 0; i < map->items.size(); ++i) {
    const Key& key = map->keys[i];
    const MapReader member(source_, &map->items[i], KeyOf(name) + "." + key.name);
    if (member.present()) maps.emplace_back(key, member);
  }
  return maps;
}

std::vector<std::pair<Key, Text>> MapReader::StringMap(std::string_view name) {
  std::vector<std::pair<Key, Text>> members;
  const Node* map = Typed(name, NodeKind::kMap, Need::kOptional);
  if (map == nullptr) return members;
  MapReader reader(source_, map, KeyOf(name));
  for (const Key& key : map->keys) {
    std::optional<Text> text = reader.String(key.name, Need::kRequired);
    if (text) members.emplace_back(key, *std::move(text));
  }
  return members;
}

const Node* MapReader::Variant(std::string_view name, const std::vector<std::string_view>& names,
                               Need need, std::string_view why) {
  const Node* found = Any(name, need);
  if (found == nullptr) return nullptr;
  const bool text = found->kind == NodeKind::kString;
  if (text && std::find(names.begin(), names.end(), found->text) != names.end()) return found;
  const std::string expected = (names.size() > 1 ? "one of " : "") + Quoted(names);
  source_->Syntax(found->line, KeyOf(name),
                  (text ? "unknown variant `" + found->text + "`, expected " + expected
                        : "must be " + expected + ", not " + Found(*found)) +
                      (why.empty() ? "" : ": " + std::string(why)));
  return nullptr;
}

void MapReader::Note(std::string_view name, const std::string& field, Origins* origins) const {
  const Node* found = node_ == nullptr ? nullptr : Find(*node_, name);
  if (found == nullptr) return;
  origins->Add(field, source_->At(found->line, KeyOf(name), WrittenOf(*found)));
}

void MapReader::Finish() {
  if (node_ == nullptr) return;
  const std::vector<std::string_view> names(known_.begin(), known_.end());
  const std::string expected =
      names.empty() ? ": there are none here" : ", expected one of " + Quoted(names);
  for (const Key& key : node_->keys) {
    if (std::find(names.begin(), names.end(), key.name) != names.end()) continue;
    source_->Syntax(key.line, KeyOf(key.name), "unknown field `" + key.name + "`" + expected);
  }
}

}  // namespace odyssey::dialect
