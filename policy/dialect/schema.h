#ifndef ODYSSEY_POLICY_DIALECT_SCHEMA_H_
#define ODYSSEY_POLICY_DIALECT_SCHEMA_H_

// Reads the maps of a document by name and type. Each getter reports what is wrong, once, and
// answers with its default; Finish reports every key that no getter asked for. All pointers are
// borrowed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/dialect/node.h"
#include "policy/dialect/origin.h"

namespace odyssey::dialect {

// Where the problems of one file go, and what its author should know though it is no problem.
struct Source {
  std::string file;
  ProblemKind syntax = ProblemKind::kManifest;  // of wrong types and unknown keys
  Problems* problems = nullptr;
  Problems* warnings = nullptr;                  // nullptr: dropped
  ProblemKind meaning = ProblemKind::kManifest;  // of values that are not allowed
  bool null_is_absent = true;                    // where a key is optional
  // A file that parts of the document come from: its lines count from kBesideLines on.
  std::string beside;
  static constexpr int kBesideLines = 1 << 24;  // more than any file has

  Place At(int line, std::string key, std::string written = "") const {
    if (line < kBesideLines) return {file, line, std::move(key), std::move(written)};
    return {beside, line - kBesideLines, std::move(key), std::move(written)};
  }
  void Syntax(int line, std::string key, std::string message) const {
    Tell(problems, syntax, line, std::move(key), std::move(message));
  }
  void Invalid(int line, std::string key, std::string message) const {
    Tell(problems, meaning, line, std::move(key), std::move(message));
  }
  void Warn(int line, std::string key, std::string message) const {
    if (warnings != nullptr) Tell(warnings, meaning, line, std::move(key), std::move(message));
  }

 private:
  void Tell(Problems* where, ProblemKind kind, int line, std::string key,
            std::string message) const {
    Place place = At(line, std::move(key));
    where->push_back(
        {kind, std::move(place.file), place.line, std::move(place.key), std::move(message)});
  }
};

enum class Need { kOptional, kRequired };

// A string with its place.
struct Text {
  std::string value;
  int line = 0;
  std::string key;
};

Place PlaceOf(const Source& source, const Text& text);

// One map of the document; absent if `node` is nullptr.
class MapReader final {
 public:
  // `key` is the map's own name, "" for the document.
  MapReader(const Source* source, const Node* node, std::string key);

  bool present() const { return node_ != nullptr; }
  const Node* node() const { return node_; }
  int line() const { return node_ != nullptr ? node_->line : 0; }
  const std::string& key() const { return key_; }
  const Source& source() const { return *source_; }
  std::string KeyOf(std::string_view name) const;

  // The node itself, of any kind; nullptr if absent, or null where that means it.
  const Node* Any(std::string_view name, Need need = Need::kOptional);
  // Strings hold no NUL byte.
  std::optional<Text> String(std::string_view name, Need need = Need::kOptional);
  std::vector<Text> Strings(std::string_view name);
  std::optional<bool> Bool(std::string_view name);
  // A whole number of [least, most]; `why` ends the message for any other.
  uint64_t Whole(std::string_view name, uint64_t fallback, uint64_t least, uint64_t most,
                 std::string_view why = "");
  MapReader Map(std::string_view name, Need need = Need::kOptional);
  // The entries of a list that holds strings and maps.
  struct Entry;
  std::vector<Entry> Entries(std::string_view name);
  // The maps of a list, with keys "name[0]", ….
  std::vector<MapReader> Maps(std::string_view name, size_t most);
  // The members of a map of maps, each with its key "name.member".
  std::vector<std::pair<Key, MapReader>> MapOfMaps(std::string_view name, size_t most);
  // The members of a map of strings.
  std::vector<std::pair<Key, Text>> StringMap(std::string_view name);

  // `why` ends the message for any other value.
  template <typename E>
  E Enum(std::string_view name, const std::vector<std::pair<std::string_view, E>>& values,
         E fallback, Need need = Need::kOptional, std::string_view why = "") {
    std::vector<std::string_view> names;
    for (const auto& [spelling, value] : values) names.push_back(spelling);
    const Node* found = Variant(name, names, need, why);
    for (const auto& [spelling, value] : values) {
      if (found != nullptr && spelling == found->text) return value;
    }
    return fallback;
  }

  // Where `name` of the map becomes `field` of the request; nothing if it is not there.
  void Note(std::string_view name, const std::string& field, Origins* origins) const;

  void Finish();

 private:
  const Node* Typed(std::string_view name, NodeKind kind, Need need);
  std::optional<Text> TextOf(const Node& node, const std::string& key) const;
  // A string that is one of `names`.
  const Node* Variant(std::string_view name, const std::vector<std::string_view>& names, Need need,
                      std::string_view why);

  const Source* source_;
  const Node* node_;
  std::string key_;
  std::vector<std::string> known_;
};

// One of both.
struct MapReader::Entry {
  std::optional<Text> text;
  std::optional<MapReader> map;
};

// What stands where something else is expected: "a list", "a number (`3`)", "`true`".
std::string Found(const Node& node);

// "`a`, `b`".
std::string Quoted(const std::vector<std::string_view>& names);

// "unknown tool `NAME`, expected one of …" of a name that policy::FindTool does not know.
std::string UnknownTool(const std::string& name);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_SCHEMA_H_
