#ifndef ODYSSEY_AGENTD_PROVIDER_PRICE_LIST_H_
#define ODYSSEY_AGENTD_PROVIDER_PRICE_LIST_H_

// What models cost, as the operator has written it down (docs/BUDGETS.md). Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"

namespace odyssey::provider {

inline constexpr size_t kMaxPrices = 1000;

// Microdollars for a million tokens.
struct Price {
  uint64_t input = 0;
  uint64_t cached_input = 0;
  uint64_t output = 0;
  friend bool operator==(const Price&, const Price&) = default;
};

// Microdollars, rounded up. `cached` of the input tokens are charged as such.
uint64_t CostOf(const Price& price, uint64_t input, uint64_t cached, uint64_t output);

class PriceList final {
 public:
  // `provider` is a name of the table, or an alias; nullopt: it has no price.
  std::optional<Price> Find(std::string_view provider, std::string_view model) const;
  void Add(std::string_view provider, std::string model, const Price& price);

 private:
  std::map<std::pair<std::string, std::string>, Price> prices_;
};

// INVALID_ARGUMENT with `file`, line and key.
Result<PriceList> ParsePrices(const std::string& file, std::string_view yaml);

}  // namespace odyssey::provider

#endif  // ODYSSEY_AGENTD_PROVIDER_PRICE_LIST_H_
