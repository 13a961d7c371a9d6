#include "policy/difference/difference.h"

#include <iterator>
#include <utility>

namespace odyssey::difference {
namespace {

void Move(std::vector<std::string> lines, std::vector<std::string>* into) {
  into->insert(into->end(), std::make_move_iterator(lines.begin()),
               std::make_move_iterator(lines.end()));
}

}  // namespace

std::string_view OrderName(Order order) {
  switch (order) {
    case Order::kSame:
      return "same";
    case Order::kWider:
      return "wider";
    case Order::kNarrower:
      return "narrower";
    case Order::kDifferent:
      break;
  }
  return "different";
}

Order OrderOf(const Difference& difference) {
  const bool more = !difference.only_second.empty();
  const bool less = !difference.only_first.empty();
  if (!difference.undecided.empty() || (more && less)) return Order::kDifferent;
  if (more) return Order::kWider;
  return less ? Order::kNarrower : Order::kSame;
}

void Append(Difference more, Difference* into) {
  Move(std::move(more.only_first), &into->only_first);
  Move(std::move(more.only_second), &into->only_second);
  Move(std::move(more.undecided), &into->undecided);
}

}  // namespace odyssey::difference
