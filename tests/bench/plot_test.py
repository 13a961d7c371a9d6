#!/usr/bin/env python3
"""What plot.py reads of a record."""

import unittest

import plot

RECORD = """
| figure | Odyssey | floor | peer | target: measured |
|---|---|---|---|---|
| warm `Exec` | p50 1.105 ms, p99 2.653 ms | posix_spawn: p50 615 µs, p99 1.512 ms | bwrap: p50 3.9 ms, p99 6 ms | met |
| read | p50 0.1 ms, p99 0.2 ms | open, pread, close: p50 0.005 ms, p99 0.009 ms |  | met |
| cells | the same: p50 1 ms, p99 3 ms; another: p50 1.2 s, p99 2 s | one: p50 1 ms, p99 2 ms |  | met |
| alone | p50 1 ms, p99 2 ms |  |  |  |
| rate | 1301 execs/s | posix_spawn: 3455 execs/s |  | met |

| part | median time |
|---|---|
| PlanDecode | 1.93 µs |
"""


class RowsTest(unittest.TestCase):

    def test_rows_with_a_median_beside_another(self):
        self.assertEqual(plot.rows(RECORD), [
            ("warm Exec", [("Odyssey", "", 1.105), ("floor", "posix_spawn", 0.615), ("peer", "bwrap", 3.9)]),
            ("read", [("Odyssey", "", 0.1), ("floor", "open, pread, close", 0.005)]),
            ("cells", [("Odyssey", "the same", 1.0), ("Odyssey", "another", 1200.0), ("floor", "one", 1.0)]),
        ])


if __name__ == "__main__":
    unittest.main()
