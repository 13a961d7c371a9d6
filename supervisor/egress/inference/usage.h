#ifndef ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_USAGE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_USAGE_H_

// How many tokens an answer says that it took, read while it passes, whichever protocol it speaks:
// JSON, or a stream of server-sent events.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/wire/inference_wire.h"

namespace odyssey::egress::inference {

inline constexpr size_t kMaxWholeBytes = 8 << 20;  // of an answer in JSON; usage of more is unknown
inline constexpr size_t kMaxEventBytes = 1 << 20;  // of an event; likewise
inline constexpr uint64_t kMaxTokens = 1'000'000'000;  // of one number

struct Usage {
  uint64_t tokens_in = 0, tokens_out = 0;
  friend bool operator==(const Usage&, const Usage&) = default;
};

// Where no server says it: a token for four bytes of the request and of the answer.
Usage EstimateUsage(uint64_t bytes_in, uint64_t bytes_out);

// Of each kind the larger number.
Usage Larger(const Usage& a, const Usage& b);

// Millionths of a dollar, rounded up.
uint64_t CostOf(const egress_wire::RoutePrice& price, const Usage& usage);

enum class AnswerForm { kWhole, kEvents };

class UsageReader final {
 public:
  // `hides_usage`: events with nothing but the usage, as those that ask for it are sent at the end
  // of a stream of OpenAI's, are left out.
  UsageReader(AnswerForm form, bool hides_usage) : form_(form), hides_usage_(hides_usage) {}

  // Appends what the client receives of it.
  void Push(std::string_view bytes, std::string* out);
  // The answer is whole. Appends the rest.
  void Finish(std::string* out);

  // nullopt: nothing was said so far. Numbers are totals so far: of one kind the largest holds.
  std::optional<Usage> usage() const;

 private:
  static constexpr size_t kCounts = 6;
  class Finder;

  void TakeByte(char c, std::string* out);
  void EndEvent(std::string* out);
  // true: it is an event with nothing but the usage.
  bool ReadJson(std::string_view text);

  const AnswerForm form_;
  const bool hides_usage_;
  std::string held_;  // the answer, or the event so far
  bool too_long_ = false;
  size_t line_bytes_ = 0;
  bool after_cr_ = false;
  bool hid_ = false;  // the event before was left out
  bool seen_ = false;
  std::array<uint64_t, kCounts> counts_ = {};
};

}  // namespace odyssey::egress::inference

#endif  // ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_USAGE_H_
