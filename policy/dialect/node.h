#ifndef ODYSSEY_POLICY_DIALECT_NODE_H_
#define ODYSSEY_POLICY_DIALECT_NODE_H_

// What a JSON5 or YAML file says, with the place of everything in it: the one tree that every
// schema is read from.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/dialect/problem.h"

namespace odyssey::dialect {

inline constexpr size_t kMaxDocumentBytes = 1024 * 1024;
inline constexpr int kMaxDocumentDepth = 64;
inline constexpr size_t kMaxMapKeys = 1024;

enum class NodeKind { kNull, kBool, kNumber, kString, kList, kMap };

struct Key {
  std::string name;
  int line = 0;
  friend bool operator==(const Key&, const Key&) = default;
};

struct Node {
  NodeKind kind = NodeKind::kNull;
  int line = 0;  // 1-based
  int column = 0;
  bool boolean = false;
  std::string text;  // a string; a number as JSON writes it, or "Infinity", "-Infinity", "NaN"
  std::vector<Node> items;  // of a list; of a map, beside `keys`
  std::vector<Key> keys;    // unique
  friend bool operator==(const Node&, const Node&) = default;
};

enum class Format { kJson5, kYaml };

// The document of a file; or nullopt, and why in `problems`. Duplicate keys, anchors, aliases,
// merge keys, tags and second documents are problems.
std::optional<Node> ParseDocument(Format format, const std::string& file, std::string_view text,
                                  Problems* problems, size_t most_bytes = kMaxDocumentBytes);

// What is wrong with a map that `key` is added to beyond kMaxMapKeys.
std::string TooManyKeys(const std::string& key);

// The value of `name` in a map, nullptr if there is none.
const Node* Find(const Node& map, std::string_view name);

// "a string", "a list", …
std::string_view KindName(NodeKind kind);

// As compact JSON. An infinite or undefined number becomes null.
std::string ToJson(const Node& node);

// A decimal or 0x number as JSON writes it; nullopt if it is none. Knows Infinity and NaN.
std::optional<std::string> CanonicalNumber(std::string_view text);

// Whether the bytes are UTF-8 without surrogates.
bool IsUtf8(std::string_view text);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_NODE_H_
