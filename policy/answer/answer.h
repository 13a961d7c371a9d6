#ifndef ODYSSEY_POLICY_ANSWER_ANSWER_H_
#define ODYSSEY_POLICY_ANSWER_ANSWER_H_

// What the operator and the compiler say of a cell that would be made, and of one thing in it. The
// supervisor answers with it (CheckPolicy), and odyssey-ctl where no supervisor runs; the cells of
// PrepareCell are compiled by the same CompileFor. Values in, values out: what is known of the host
// is in the facts, in what the asker saw, and in the finder.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/ceiling/check.h"
#include "policy/compile/compile.h"
#include "policy/executables/finder.h"
#include "policy/explain/explain.h"
#include "policy/explain/links.h"
#include "policy/model/request.h"

namespace odyssey::answer {

// What the asker found at a path of the host. Of a workspace, a source of a mount or an executable
// that is not among them nothing is known, and nothing is refused.
struct Seen {
  compile::PlaceKind kind = compile::PlaceKind::kDirectory;
  uint32_t uid = 0;  // its owner, if it is there
  uint32_t mode = 0;
  bool closed = false;  // the user for whom the cell would be may not open it
  friend bool operator==(const Seen&, const Seen&) = default;
};

enum class About {
  kCell,     // would it be made
  kPath,     // … and would a command in it see Question::path
  kNetwork,  // … and would a command in it reach another host
};

struct Question {
  policy::SandboxRequest request;
  About about = About::kCell;
  std::string path;                          // of the host, absolute and normalised
  std::map<std::string, Seen> seen;          // by path
  std::map<std::string, std::string> links;  // symbolic links of the host, and what they say
  // Variables of the request whose values are those of a variable of the client's with another
  // name: name → that name.
  std::map<std::string, std::string> env_sources;
};

// Under what the question is answered.
struct Under {
  std::string directory;  // of the ceiling's files
  ceiling::Ceiling ceiling;
  ceiling::Asker asker;
};

struct Host {
  const compile::HostFacts& facts;
  executables::Finder* finder;
  explain::ReadLink read_link;              // of links that are not in Question::links
  compile::FindImage find_image = nullptr;  // none: there is every image
};

// kInvalid: what is wrong with the request for every user.
enum class Verdict { kAllow, kDeny, kInvalid };

// The ceiling for people.
struct CeilingText {
  std::string directory;
  bool built_in = false;  // there is no such directory
  std::string digest;
  std::vector<std::string> rules;
  std::string odek_default;  // ceiling::Images::odek_default
  friend bool operator==(const CeilingText&, const CeilingText&) = default;
};

// What grants something that the request asks for.
struct Granted {
  std::string key;    // "mounts[1].source"
  std::string value;  // "/srv/data"
  std::string rule;   // "FILE:LINE"
  friend bool operator==(const Granted&, const Granted&) = default;
};

struct Answer {
  Verdict verdict = Verdict::kAllow;
  std::string rule;
  std::string reason;
  // Of a path: the smallest change of the policy that would allow it, or, of what is allowed, that
  // would let it be written.
  explain::Grant grant;
  std::string host_path;      // of a path: what decides is shown there on the host; "": nowhere
  bool through_link = false;  // a symbolic link led to what decides

  Status refusal;      // why no cell would be made, of the field that asks too much; OK: one would
  std::string digest;  // of the compiled policy; "" if there is none
  std::vector<std::string> plan;  // a line each, with why the line is there
  std::vector<Granted> granted;
  CeilingText ceiling;
};

inline constexpr char kByCeiling[] = "operator's ceiling";
inline constexpr char kByCompiler[] = "what no cell is given";

// Never fails: a question about a path that is none is kInvalid, as any mistake of the request.
Answer Decide(const Question& question, const Under& under, const Host& host);

// The ceiling alone.
CeilingText DescribeCeiling(const std::string& directory, const ceiling::Ceiling& ceiling);

// The host's programs that the request names.
Result<compile::FoundExecutables> FindFor(const policy::SandboxRequest& request,
                                          executables::Finder* finder);

// What an admitted request becomes for its owner, before ceiling::SetOwners.
Result<compile::Compiled> CompileFor(const policy::SandboxRequest& request,
                                     const ceiling::Owner& owner, const compile::HostFacts& facts,
                                     const compile::FoundExecutables& found,
                                     const compile::FoundImage& image);

// The image that the request names, for a cell of `owner_uid`; an empty one if it names none.
Result<compile::FoundImage> FindImageFor(const policy::SandboxRequest& request, uint32_t owner_uid,
                                         const compile::FindImage& find);

}  // namespace odyssey::answer

#endif  // ODYSSEY_POLICY_ANSWER_ANSWER_H_
