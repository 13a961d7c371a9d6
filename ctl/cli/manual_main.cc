// Prints odyssey-ctl(1); with "page DAEMON" the manual page of a daemon's settings, with "defaults
// DAEMON" the file of settings of a new installation. Run by the build.
#include <cstdio>
#include <string>

#include "ctl/cli/manual.h"
#include "ctl/settings/settings_text.h"

int main(int argc, char** argv) {
  namespace ctl = odyssey::ctl;
  std::string out;
  if (argc == 1) {
    out = ctl::ManualPage();
  } else {
    const std::string what = argv[1];
    const auto daemon = ctl::FindDaemon(argc == 3 ? argv[2] : "");
    if (!daemon.ok() || (what != "page" && what != "defaults")) return 2;
    out = what == "page" ? ctl::SettingsPage(**daemon) : ctl::DefaultFile(**daemon);
  }
  return std::fputs(out.c_str(), stdout) < 0 ? 1 : 0;
}
