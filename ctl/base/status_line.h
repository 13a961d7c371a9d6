#ifndef ODYSSEY_CTL_BASE_STATUS_LINE_H_
#define ODYSSEY_CTL_BASE_STATUS_LINE_H_

// What goes on, while a person waits: one line of stderr that is written over and over. Only on a
// terminal that can erase a line (TERM is not "dumb"), and never with -o json.

#include <chrono>
#include <string>
#include <string_view>

#include "ctl/base/console.h"

namespace odyssey::ctl {

class StatusLine final {
 public:
  // `console` outlives the line.
  explicit StatusLine(const Console& console);
  // Erases it.
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // Whether it can be seen at all.
  bool visible() const { return visible_; }

  // Any text, sanitised here and cut to the terminal's width. What follows another within 100 ms is
  // left out, so a caller may show each step of a loop.
  void Show(std::string_view text);
  // Before anything else is written to the terminal.
  void Erase();

 private:
  const Console& console_;
  const bool visible_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

// "[######....] 3/5 NAME": how many of a known number are done. Pure.
std::string Fraction(size_t done, size_t all, std::string_view name);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_STATUS_LINE_H_
