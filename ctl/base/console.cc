#include "ctl/base/console.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "common/os/file.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"

namespace odyssey::ctl {
namespace {

void WriteText(int fd, std::string_view text) {
  // A reader that went away (| head) ends the output, not the command.
  (void)WriteAll(fd, text).ok();
}

constexpr int kIndented = 2;
constexpr int kOneLine = -1;

// ASCII only: what an agent wrote cannot act on a terminal, and a program decodes it all the same.
std::string Dump(const Json& value, int indent) {
  return value.dump(indent, ' ', true, Json::error_handler_t::replace);
}

// Characters, not bytes: the width of a cell as far as a table needs it.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string Paint(std::string_view text, Style style, bool color) {
  if (!color || style == Style::kPlain || text.empty()) return std::string(text);
  const char* code = "0";
  switch (style) {
    case Style::kDim:
      code = "2";
      break;
    case Style::kBold:
      code = "1";
      break;
    case Style::kGood:
      code = "32";
      break;
    case Style::kBad:
      code = "31";
      break;
    case Style::kWarn:
      code = "33";
      break;
    case Style::kPlain:
      break;
  }
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::string FormatFailure(const Failure& failure) {
  std::string out = "odyssey-ctl: " + Sanitize(failure.what, Lines::kOne);
  if (!failure.why.empty()) out += ": " + Sanitize(failure.why, Lines::kOne);
  out += "\n";
  if (!failure.next.empty()) out += "  " + Sanitize(failure.next, Lines::kOne) + "\n";
  return out;
}

void Console::Print(std::string_view text) const { WriteText(STDOUT_FILENO, text); }

void Console::PrintLine(std::string_view text) const { Print(std::string(text) + "\n"); }

void Console::Warn(std::string_view text) const { WriteText(err_fd, std::string(text) + "\n"); }

void Console::PrintJson(const Json& value) const {
  PrintLine(Dump(value, out_is_terminal ? kIndented : kOneLine));
}

void Console::WarnJson(const Json& value) const { Warn(Dump(value, kOneLine)); }

int Console::Fail(const Failure& failure) const {
  WriteText(err_fd, FormatFailure(failure));
  return kExitFailed;
}

Console MakeConsole(bool json) {
  const char* no_color = getenv("NO_COLOR");
  const char* term = getenv("TERM");
  const bool wanted = (no_color == nullptr || no_color[0] == '\0') &&
                      (term == nullptr || strcmp(term, "dumb") != 0);
  Console console;
  console.json = json;
  console.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  console.in_is_terminal = isatty(STDIN_FILENO) == 1;
  console.err_is_terminal = isatty(STDERR_FILENO) == 1;
  console.color_out = wanted && !json && console.out_is_terminal;
  console.color_err = wanted && console.err_is_terminal;
  return console;
}

std::string FormatTable(const std::vector<std::string>& header,
                        const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const std::string& cell : header) widths.push_back(Width(cell));
  for (const auto& row : rows) {
    ODY_CHECK(row.size() == header.size());
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string out;
  const auto append = [&](const std::vector<std::string>& row) {
    for (size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] - Width(row[i]) + 2, ' ');
    }
    out += "\n";
  };
  append(header);
  for (const auto& row : rows) append(row);
  return out;
}

}  // namespace odyssey::ctl
