#include "agentd/session_file/file_time.h"

#include <chrono>

#include "agentd/base/clock.h"

namespace odyssey::session_file {
namespace {

// What the clock's nanoseconds hold, and some less.
constexpr std::chrono::sys_days kEarliest = std::chrono::year(1970) / 1 / 1;
constexpr std::chrono::sys_days kLatest = std::chrono::year(2200) / 1 / 1;

// The parts of a text, from its beginning. A part that is not there sets ok() to false for good.
class Parts final {
 public:
  explicit Parts(const std::string& text) : text_(text) {}

  int Number(size_t digits) {
    int out = 0;
    for (size_t i = 0; i < digits; ++i) {
      const char c = Take();
      if (c < '0' || c > '9') ok_ = false;
      out = out * 10 + (c - '0');
    }
    return ok_ ? out : 0;
  }
  char Take() {
    if (at_ < text_.size()) return text_[at_++];
    ok_ = false;
    return '\0';
  }
  void Expect(char c) { ok_ = Take() == c && ok_; }
  void ExpectLetter(char upper) {
    const char c = Take();
    ok_ = ok_ && (c == upper || c == upper - 'A' + 'a');
  }
  // Milliseconds of ".125", if it is there; further digits are cut off.
  int Fraction() {
    if (at_ >= text_.size() || text_[at_] != '.') return 0;
    ++at_;
    int out = 0;
    size_t digits = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++digits, ++at_) {
      if (digits < 3) out = out * 10 + (text_[at_] - '0');
    }
    ok_ = ok_ && digits > 0;
    for (; digits < 3; ++digits) out *= 10;
    return out;
  }
  // Minutes east of UTC.
  int Offset() {
    const char sign = Take();
    if (sign == 'Z' || sign == 'z') return 0;
    ok_ = ok_ && (sign == '+' || sign == '-');
    const int hours = Number(2);
    Expect(':');
    const int minutes = Number(2);
    ok_ = ok_ && hours < 24 && minutes < 60;
    return (hours * 60 + minutes) * (sign == '-' ? -1 : 1);
  }
  bool ok() const { return ok_; }
  bool ended() const { return ok_ && at_ == text_.size(); }

 private:
  const std::string& text_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

Result<std::string> NormalTime(const std::string& text) {
  using std::chrono::day, std::chrono::month, std::chrono::year;
  Parts parts(text);
  const int y = parts.Number(4);
  parts.Expect('-');
  const int mon = parts.Number(2);
  parts.Expect('-');
  const int d = parts.Number(2);
  parts.ExpectLetter('T');
  const int h = parts.Number(2);
  parts.Expect(':');
  const int min = parts.Number(2);
  parts.Expect(':');
  const int s = parts.Number(2);
  const int ms = parts.Fraction();
  const int offset = parts.Offset();
  const auto date = year(y) / month(static_cast<unsigned>(mon)) / day(static_cast<unsigned>(d));
  if (!parts.ended() || !date.ok() || h > 23 || min > 59 || s > 60) {
    return InvalidArgument("not a time of RFC 3339");
  }
  const auto time = std::chrono::sys_days(date) + std::chrono::hours(h) +
                    std::chrono::minutes(min - offset) + std::chrono::seconds(s) +
                    std::chrono::milliseconds(ms);
  if (time < kEarliest || time >= kLatest) return InvalidArgument("not a time of 1970 to 2199");
  return agent::FormatTime(std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
}

}  // namespace odyssey::session_file
