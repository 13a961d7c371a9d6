#include "ctl/tui/theme.h"

namespace odyssey::ctl {
namespace {

constexpr int kRed = 1, kGreen = 2, kYellow = 3, kBlue = 4, kMagenta = 5, kCyan = 6;

// The order of Tint: plain, dim, bold, good, bad, warn, user, title, bar, selected. The background
// stays the terminal's.
constexpr Theme kThemes[] = {
    {"odyssey",
     {{},
      {.dim = true},
      {.bold = true},
      {.color = kGreen},
      {.color = kRed},
      {.color = kYellow},
      {.color = kCyan, .bold = true},
      {.color = kCyan, .bold = true},
      {.reverse = true},
      {.bold = true, .reverse = true}}},
    // Where yellow and cyan are hard to read.
    {"light",
     {{},
      {},
      {.bold = true},
      {.color = kGreen, .bold = true},
      {.color = kRed, .bold = true},
      {.color = kMagenta, .bold = true},
      {.color = kBlue, .bold = true},
      {.color = kBlue, .bold = true},
      {.color = kBlue, .reverse = true},
      {.bold = true, .reverse = true}}},
    {"plain",
     {{},
      {},
      {.bold = true},
      {},
      {.bold = true},
      {.bold = true},
      {.bold = true},
      {.bold = true},
      {.reverse = true},
      {.reverse = true}}},
};

}  // namespace

std::vector<std::string> ThemeNames() {
  std::vector<std::string> out;
  for (const Theme& theme : kThemes) out.emplace_back(theme.name);
  return out;
}

const Theme& ThemeOf(std::string_view name) {
  for (const Theme& theme : kThemes) {
    if (theme.name == name) return theme;
  }
  return kThemes[0];
}

}  // namespace odyssey::ctl
