#ifndef ODYSSEY_TESTS_FAKES_FAKE_IDS_H_
#define ODYSSEY_TESTS_FAKES_FAKE_IDS_H_

// Identifiers that count: "trn_00000000000000000000000000000001", … one row for all prefixes.
// Thread-safe.

#include <atomic>
#include <cstdio>

#include "agentd/base/ids.h"

namespace odyssey::fakes {

class FakeIds final : public agent::IdSource {
 public:
  std::string New(std::string_view prefix) override {
    char digits[33];
    std::snprintf(digits, sizeof(digits), "%032llx", static_cast<unsigned long long>(++last_));
    return std::string(prefix) + "_" + digits;
  }

 private:
  std::atomic<uint64_t> last_ = 0;
};

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_FAKE_IDS_H_
