#ifndef ODYSSEY_AGENTD_BASE_IDS_H_
#define ODYSSEY_AGENTD_BASE_IDS_H_

// Identifiers of sessions, turns, events, calls and approvals: "ses_" + 32 hex digits.

#include <string>
#include <string_view>

namespace odyssey::agent {

// Where identifiers come from, as a seam. Thread-safe.
class IdSource {
 public:
  virtual ~IdSource() = default;
  // `prefix` + "_" + 32 hex digits, never the same twice.
  virtual std::string New(std::string_view prefix) = 0;
};

// 128 bits from the kernel for each.
class RandomIds final : public IdSource {
 public:
  std::string New(std::string_view prefix) override;
};

// True for exactly what New(prefix) makes: such an id is safe as a file name.
bool IsId(std::string_view prefix, std::string_view id);

}  // namespace odyssey::agent

#endif  // ODYSSEY_AGENTD_BASE_IDS_H_
