#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_TEXT_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_TEXT_H_

// Questions about bytes that may be UTF-8 text. Pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace odyssey::cell_tools {

// Length of `bytes` without an incomplete character at its end. Bytes that are not text otherwise,
// or that would leave nothing, are kept whole.
size_t LengthAtCharacterBoundary(std::string_view bytes);

// How often `needle` (not empty) occurs in `text`, not overlapping; with kCount 2 if overlapping
// occurrences make a single one ambiguous. Linear in the sizes, whatever they hold.
enum class Overlaps { kCount, kLeaveOut };
uint32_t CountOccurrences(std::string_view text, std::string_view needle, Overlaps overlaps);

// `text` with every non-overlapping `needle` replaced, from the left.
std::string ReplaceAll(std::string_view text, std::string_view needle,
                       std::string_view replacement);

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_TEXT_H_
