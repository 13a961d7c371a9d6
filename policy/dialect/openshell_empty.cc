#include "policy/dialect/openshell_empty.h"

#include <algorithm>
#include <string>

namespace odyssey::dialect::openshell {
namespace {

void RefuseEmptyIn(const Source& source, const Node& node, const std::string& key) {
  if (IsEmpty(node)) {
    source.Invalid(node.line, key, "is empty: leave it out, or name at least one");
    return;
  }
  const bool map = node.kind == NodeKind::kMap;
  for (size_t i = 0; i < node.items.size(); ++i) {
    const std::string member = map ? "." + node.keys[i].name : "[" + std::to_string(i) + "]";
    RefuseEmptyIn(source, node.items[i], key + member);
  }
}

}  // namespace

bool IsEmpty(const Node& node) {
  if (node.kind == NodeKind::kList) return node.items.empty();
  return node.kind == NodeKind::kMap &&
         std::all_of(node.items.begin(), node.items.end(),
                     [](const Node& item) { return item.kind == NodeKind::kNull; });
}

void RefuseEmpty(const MapReader& map, std::string_view name) {
  const Node* node = map.present() ? Find(*map.node(), name) : nullptr;
  if (node != nullptr) RefuseEmptyIn(map.source(), *node, map.KeyOf(name));
}

}  // namespace odyssey::dialect::openshell
