#!/usr/bin/env python3
"""Writes ctl/base/hidden_ranges.h: the characters that a terminal does not show as themselves."""

import sys
import unicodedata

CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Shown as nothing, or only as a change of the character before them, with another category.
OTHERS = [(0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180D), (0x180F, 0x180F),
          (0x2800, 0x2800), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0000, 0xE0FFF)]


def ranges():
    hidden = bytearray(unicodedata.category(chr(code)) in CATEGORIES for code in range(0x110000))
    for first, last in OTHERS:
        hidden[first:last + 1] = b"\1" * (last + 1 - first)
    first = None
    for code, is_hidden in enumerate(hidden + b"\0"):
        if is_hidden and first is None:
            first = code
        elif not is_hidden and first is not None:
            yield first, code - 1
            first = None


def main():
    print(f"""#ifndef ODYSSEY_CTL_BASE_HIDDEN_RANGES_H_
#define ODYSSEY_CTL_BASE_HIDDEN_RANGES_H_

// Written by ctl/base/hidden_ranges.py from Unicode {unicodedata.unidata_version}: general categories
// {' '.join(sorted(CATEGORIES))}, variation selectors, tags and fillers. Ascending.

#include <cstdint>

namespace odyssey::ctl {{

struct CodeRange {{
  uint32_t first, last;
}};

// clang-format off
inline constexpr CodeRange kHiddenRanges[] = {{""")
    line = ""
    for first, last in ranges():
        entry = f"{{0x{first:X}, 0x{last:X}}},"
        if len(line) + len(entry) > 96:
            print("    " + line.rstrip())
            line = ""
        line += entry + " "
    print("    " + line.rstrip())
    print("""};
// clang-format on

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_HIDDEN_RANGES_H_""")


if __name__ == "__main__":
    sys.exit(main())
