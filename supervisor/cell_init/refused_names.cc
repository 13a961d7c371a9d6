#include "supervisor/cell_init/refused_names.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>

namespace odyssey::cell_init {

RefusedNames::RefusedNames() {
  void* memory =
      mmap(nullptr, sizeof(Log), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  log_ = memory == MAP_FAILED ? nullptr : static_cast<Log*>(memory);
}

void RefusedNames::Add(std::string_view name) {
  if (log_ == nullptr) return;
  name = name.substr(0, cell::kMaxDestinationBytes);
  Entry* entry = std::find_if(std::begin(log_->entries), std::end(log_->entries),
                              [&](const Entry& e) { return e.number != 0 && e.name == name; });
  if (entry == std::end(log_->entries)) {
    entry = std::min_element(std::begin(log_->entries), std::end(log_->entries),
                             [](const Entry& a, const Entry& b) { return a.number < b.number; });
    entry->name[name.copy(entry->name, cell::kMaxDestinationBytes)] = '\0';
  }
  entry->number = log_->last + 1;
  log_->last = entry->number.load();
}

std::vector<std::string> RefusedNames::After(uint64_t number) const {
  std::vector<std::string> names;
  if (log_ == nullptr) return names;
  for (const Entry& entry : log_->entries) {
    if (entry.number <= number) continue;
    names.emplace_back(entry.name, strnlen(entry.name, cell::kMaxDestinationBytes));
  }
  return names;
}

}  // namespace odyssey::cell_init
