#ifndef ODYSSEY_POLICY_DIFFERENCE_DIFFERENCE_H_
#define ODYSSEY_POLICY_DIFFERENCE_DIFFERENCE_H_

// What two policies let happen, compared.

#include <string>
#include <string_view>
#include <vector>

namespace odyssey::difference {

// How the second policy stands to the first.
enum class Order { kSame, kWider, kNarrower, kDifferent };

// "same", "wider", "narrower", "different".
std::string_view OrderName(Order order);

// A line for each item: its key, what it gives, and what the other has.
struct Difference {
  std::vector<std::string> only_first;   // what the first lets happen beyond the second
  std::vector<std::string> only_second;  // and the other way round
  std::vector<std::string> undecided;    // what differs, and neither is known to give more

  friend bool operator==(const Difference&, const Difference&) = default;
};

Order OrderOf(const Difference& difference);

void Append(Difference more, Difference* into);

}  // namespace odyssey::difference

#endif  // ODYSSEY_POLICY_DIFFERENCE_DIFFERENCE_H_
