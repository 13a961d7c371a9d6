#ifndef ODYSSEY_POLICY_DIALECT_OPENSHELL_EMPTY_H_
#define ODYSSEY_POLICY_DIALECT_OPENSHELL_EMPTY_H_

// Lists and maps with nothing in them, which would read as if they were not there: as no
// restriction.

#include <string_view>

#include "policy/dialect/schema.h"

namespace odyssey::dialect::openshell {

// A list without entries, or a map without a value that is not null.
bool IsEmpty(const Node& node);

// Reports each that is empty among `name` of the map and all within it.
void RefuseEmpty(const MapReader& map, std::string_view name);

}  // namespace odyssey::dialect::openshell

#endif  // ODYSSEY_POLICY_DIALECT_OPENSHELL_EMPTY_H_
