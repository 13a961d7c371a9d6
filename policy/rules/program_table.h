#ifndef ODYSSEY_POLICY_RULES_PROGRAM_TABLE_H_
#define ODYSSEY_POLICY_RULES_PROGRAM_TABLE_H_

// What the arguments of programs mean, as data: which options take a value, where an inner command
// begins, which words name files, and how much a call risks. A row of the table serves several
// programs. "git diff" is a row of its own, for a subcommand of "git".

#include <cstdint>
#include <span>
#include <string_view>

#include "policy/rules/risk_class.h"

namespace odyssey::rules {

// Where a command inside the arguments begins.
enum class Inner : uint8_t {
  kNone,
  kRest,       // after the options and `positionals` operands: env, timeout
  kShell,      // sh -c TEXT, sh FILE, or sh that reads its standard input
  kAnyWord,    // somewhere: deny and ask rules try each word, an allow rule fits nothing
  kElsewhere,  // somewhere, and the program itself is what an allow rule names: ssh, npx
};

// What the operands are.
enum class Operands : uint8_t {
  kOther,
  kRead,
  kWrite,
  kWriteTree,        // and everything below: rm
  kReplace,          // and everything below, not to remove it: git checkout
  kConvert,          // read and written: gzip, an editor
  kCopy,             // the last is written, the others are read
  kMove,             // the same, and the others are written too
  kLink,             // the same as kCopy; a single one is written
  kPatternThenRead,  // grep
  kAwk,              // a program text, then files that are read
  kSed,              // the same, for sed
  kAssignments,      // if=FILE of=FILE
  kGitSetting,       // a key and its value
  kGitObjects,       // files that are read, or REVISION:FILE
  kAddresses,        // of a network; of file:// a file is read
};

// Facts of a row, or'ed.
enum ProgramFact : uint16_t {
  kPrivileged = 1,       // a wrapper whose own class counts: sudo
  kAssigns = 2,          // NAME=value before the inner command
  kAppendsInput = 4,     // its standard input becomes arguments of the inner command
  kSubcommands = 8,      // the options before the first operand are global
  kWholeWords = 16,      // "-exec" is one option, not five
  kBareCluster = 32,     // the first operand is a cluster of options: tar xf
  kDestroys = 64,        // an "always" covers exactly the line that was shown
  kWritesUnnamed = 128,  // files that its input names, unless an option names them
  kReadsTrees = 256,     // operands with what is below them; of grep without any, its directory
  kRecursive = 512,      // operands with what is below them where -r is given
  kPathspecs = 1024,     // git's patterns of paths
};

// `options`: the known ones, separated by spaces. After the name:
//   (nothing)  a flag
//   :R         a flag with the role R
//   =R or =    takes a value, attached or the next word, with the role R
//   ?R or ?    takes a value only if it is attached
// Roles. Of files: w one that is written, r one that is read, t a directory that is written, d the
// directory that other names are relative to, W and T like w and t, in place of the last operand
// and of what the input names, P one with the patterns, in place of the first operand, F one with
// commands or a script, in place of the first operand, N one (of a flag, the input) with names of
// files that are read, n a file or NAME=FILE, R a file or directory that is read, v one that
// another name shows, as HOST:CELL or source=HOST, O writes one that its input names, X unpacks, A
// writes the archive, f the archive, a reads all below its directory, I the operands are written
// too, D they are removed, L they are linked to, i a library of awk, @ text in which "@" begins the
// name of a file that is read, u an address. Of commands: c a shell line, S a shell line which the
// following words continue, e the words of a command up to ";" or "+", p the placeholder for input,
// ! changes what runs, g a setting of git, k a setting that may name a program, s a script for sed
// or awk, q nothing of the inner command runs.
struct Program {
  std::string_view names;  // separated by spaces, a subcommand joined by "/": "git/diff"
  RiskClass risk;
  std::string_view options = "";
  Operands operands = Operands::kOther;
  Inner inner = Inner::kNone;
  uint8_t positionals = 0;
  uint16_t facts = 0;
};

constexpr bool Has(const Program& program, ProgramFact fact) { return (program.facts & fact) != 0; }

// Null: not in the table. `name` is a base name, or "git/diff".
const Program* FindProgram(std::string_view name);

// One known option.
struct KnownOption {
  bool takes_value = false;
  bool optional_value = false;  // only an attached one
  char role = '\0';
};

// Of the row's options the one that `name` is, or abbreviates if it begins with "--". False: none.
bool FindOption(const Program& program, std::string_view name, KnownOption* out);

std::span<const Program> AllPrograms();

}  // namespace odyssey::rules

#endif  // ODYSSEY_POLICY_RULES_PROGRAM_TABLE_H_
