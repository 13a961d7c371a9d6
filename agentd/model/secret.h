#ifndef ODYSSEY_AGENTD_MODEL_SECRET_H_
#define ODYSSEY_AGENTD_MODEL_SECRET_H_

// A key. Cannot be printed or compared, is wiped when it ends, and never leaves agentd but in the
// header of the request it is for.

#include <string.h>

#include <string>
#include <utility>

namespace odyssey::model {

class Secret final {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  Secret(Secret&& other) noexcept : value_(std::move(other.value_)) { other.Wipe(); }
  Secret& operator=(Secret&& other) noexcept {
    if (this == &other) return *this;
    Wipe();
    value_ = std::move(other.value_);
    other.Wipe();
    return *this;
  }
  ~Secret() { Wipe(); }

  bool empty() const { return value_.empty(); }
  // The caller wipes what it makes of it.
  const std::string& Reveal() const { return value_; }

 private:
  void Wipe() {
    explicit_bzero(value_.data(), value_.size());
    value_.clear();
  }

  std::string value_;
};

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_SECRET_H_
