#ifndef ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_SECRET_H_
#define ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_SECRET_H_

#include <string.h>

#include <string>
#include <utility>

namespace odyssey::egress::credentials {

// Overwrites the bytes, and empties the text.
inline void Wipe(std::string* text) {
  explicit_bzero(text->data(), text->size());
  text->clear();
}

// A text that is overwritten when it is not needed any more.
class Secret final {
 public:
  Secret() = default;
  explicit Secret(std::string text) { text_.swap(text); }
  Secret(Secret&& other) noexcept { text_.swap(other.text_); }
  Secret& operator=(Secret&& other) noexcept {
    text_.swap(other.text_);
    return *this;
  }
  ~Secret() { Wipe(&text_); }

  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace odyssey::egress::credentials

#endif  // ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_SECRET_H_
