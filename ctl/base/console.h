#ifndef ODYSSEY_CTL_BASE_CONSOLE_H_
#define ODYSSEY_CTL_BASE_CONSOLE_H_

// Where a command's text goes: data to stdout, failures to stderr, colour only on a terminal.

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::ctl {

using Json = nlohmann::ordered_json;

enum class Style { kPlain, kDim, kBold, kGood, kBad, kWarn };

// `text` in that style, or as it is when `color` is false. Pure.
std::string Paint(std::string_view text, Style style, bool color);

// "odyssey-ctl: what: why" and, on a line of its own, what to do next.
struct Failure {
  std::string what;
  std::string why;
  std::string next;
};

// The two lines, with everything unprintable made visible, newlines within a text too. Pure.
std::string FormatFailure(const Failure& failure);

struct Console {
  bool json = false;
  bool color_out = false;
  bool color_err = false;
  bool out_is_terminal = false;
  bool in_is_terminal = false;
  bool err_is_terminal = false;
  // Where warnings and failures go. Borrowed: another one than stderr while a screen is shown.
  int err_fd = 2;

  // Both block until written; a closed stdout is not an error of the command.
  void Print(std::string_view text) const;
  void PrintLine(std::string_view text) const;
  void Warn(std::string_view text) const;  // a whole line to stderr
  // Indented when a person reads it, one line otherwise. Never a raw control or bidi character.
  void PrintJson(const Json& value) const;
  // The same to stderr, always one line.
  void WarnJson(const Json& value) const;

  // Reports, and returns the exit code 1.
  int Fail(const Failure& failure) const;
};

// Looks at the file descriptors and NO_COLOR.
Console MakeConsole(bool json);

// Columns as wide as their widest cell; the last one is not padded. Pure.
std::string FormatTable(const std::vector<std::string>& header,
                        const std::vector<std::vector<std::string>>& rows);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_CONSOLE_H_
