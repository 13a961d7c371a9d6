#ifndef ODYSSEY_POLICY_EXPLAIN_COMPLAINT_H_
#define ODYSSEY_POLICY_EXPLAIN_COMPLAINT_H_

// What a command said on stderr about something that was refused. The words are the command's own:
// it may say anything. Pure and bounded: reads the last kMaxBytes, at most kMaxLines lines.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::explain {

inline constexpr size_t kMaxComplaintBytes = 8 * 1024;
inline constexpr size_t kMaxComplaintLines = 128;
inline constexpr size_t kMaxComplaintLine = 1024;
inline constexpr size_t kMaxCandidates = 8;
inline constexpr size_t kMaxComplaints = 64;

enum class ComplaintKind {
  kReadOnly,      // "Read-only file system"
  kPermission,    // "Permission denied"
  kNotPermitted,  // "Operation not permitted"
  kNotFound,      // "not found": of a command
  kNetwork,       // no way to an address, or to a name's address
  kProcesses,     // no more processes or threads
  kOpenFiles,     // "Too many open files"
  kSpace,         // "No space left on device"
};

struct Complaint {
  ComplaintKind kind = ComplaintKind::kPermission;
  std::string program;         // what stands first, without its directory
  bool names_program = false;  // that is the name of a program, as far as words can tell
  bool numbered_line = false;  // a shell's, which says the line of what it reads
  // What it could be about, the likeliest first; empty for limits.
  std::vector<std::string> candidates;
  // What the words around it tell about the attempt.
  bool writing = false;
  bool executing = false;
  bool redirecting = false;  // a shell, about a file that it was to open
  friend bool operator==(const Complaint&, const Complaint&) = default;
};

// In the order of the lines.
std::vector<Complaint> ParseComplaints(std::string_view text);

}  // namespace odyssey::explain

#endif  // ODYSSEY_POLICY_EXPLAIN_COMPLAINT_H_
