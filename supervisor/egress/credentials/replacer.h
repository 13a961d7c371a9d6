#ifndef ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_REPLACER_H_
#define ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_REPLACER_H_

// Replaces texts in a stream of bytes, also where they arrive in pieces. The length stays, and so
// does the framing of a body.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::egress::credentials {

struct Replacement {
  std::string from;  // not empty
  std::string to;    // cut, or filled with `*`, to the length of `from`
  friend bool operator==(const Replacement&, const Replacement&) = default;
};

class Replacer final {
 public:
  Replacer() = default;
  explicit Replacer(std::vector<Replacement> all);
  ~Replacer();
  Replacer(Replacer&&) = default;
  Replacer& operator=(Replacer&&) = default;

  bool empty() const { return all_.empty(); }

  // What may be passed on by now. Held back are only bytes that could begin one of the texts: fewer
  // than the longest has.
  std::string Feed(std::string_view bytes);
  // The rest. Much of a text that was cut is replaced too.
  std::string End();

  // A text of its own.
  std::string Whole(std::string_view text) const;

  // Any of the texts was there so far.
  bool found() const { return found_; }

 private:
  struct Text {
    Replacement replacement;
    std::vector<uint32_t> borders;  // for each beginning: its longest border (Knuth, Morris, Pratt)
  };
  // Copies up to `*at`, which it leaves behind the last text that was found.
  std::string ReplaceIn(std::string_view bytes, size_t* at, bool* found) const;
  static size_t BeginningAtEnd(const Text& text, std::string_view bytes);

  std::vector<Text> all_;
  std::string held_;
  bool found_ = false;
};

}  // namespace odyssey::egress::credentials

#endif  // ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_REPLACER_H_
