#ifndef ODYSSEY_POLICY_FOREIGN_GAPS_H_
#define ODYSSEY_POLICY_FOREIGN_GAPS_H_

// What a system has no word for, as one table, and the items of a request that fall under it.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy/foreign/foreign.h"

namespace odyssey::foreign {

// Why an item cannot be said; "": it can.
struct Lack {
  Effect effect = Effect::kWeaker;
  std::string_view why = "";
};

struct Lacks {
  Lack programs;                            // executables_mode and executables
  Lack image;                               // another root than the host's
  Lack no_exec;                             // programs in mounts
  Lack places;                              // a mount under another name than the host's
  Lack workspace;                           // one of the cell's own, which is kept
  Lack reads;                               // that only what is mounted can be read
  Lack files;                               // suffixes and sizes, of file operations
  Lack review;                              // writes on a copy
  Lack protect;                             // read-only names in writable directories
  Lack deny;                                // names that nothing may open
  Lack full;                                // the host's network
  Lack endpoints;                           // of network_policies
  Lack providers;                           // of credentials
  Lack user;                                // uid in the cell
  Lack variables;                           // an environment of its own
  Lack confinement;                         // what every cell has
  std::map<std::string_view, Lack> limits;  // by the name in policy_keys.h
};

// Lacks::image where the programs are the host's.
inline constexpr Lack kNoImage = {Effect::kDifferent, "the programs are those of the host"};

// Of the size of /tmp, where that is the host's.
inline constexpr Lack kNoTmp = {Effect::kStricter, "there is no /tmp of its own: none"};
// Lacks::limits of a system that bounds nothing, and `tmp` of the size of /tmp.
std::map<std::string_view, Lack> NoLimits(std::string_view why, const Lack& tmp);

std::vector<Gap> GapsOf(const policy::SandboxRequest& request, const Lacks& lacks);

// Relative names that are read-only in a writable host directory.
std::vector<std::string> ProtectedIn(const policy::SandboxRequest& request);

// Host directories in the cell, the workspace first, then by target. A reviewed one is read-only
// where the system has no review.
struct Place {
  std::string source, target;
  bool writable = false;
};
std::vector<Place> PlacesOf(const policy::SandboxRequest& request);

// One word of a shell.
std::string ShellWord(std::string_view text);

}  // namespace odyssey::foreign

#endif  // ODYSSEY_POLICY_FOREIGN_GAPS_H_
