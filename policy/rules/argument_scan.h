#ifndef ODYSSEY_POLICY_RULES_ARGUMENT_SCAN_H_
#define ODYSSEY_POLICY_RULES_ARGUMENT_SCAN_H_

// Reads the arguments of a program by its row of the table: which words are options, which are
// their values, which are operands. Pure.

#include <string>
#include <vector>

#include "policy/rules/program_table.h"

namespace odyssey::rules {

struct FoundOption {
  char role = '\0';
  std::string name;   // "-o", "--output"
  std::string value;  // of role e: empty
  size_t next = 0;    // the index of the word after it; of role e: of its first word
};

struct Arguments {
  std::vector<FoundOption> options;  // those with a role
  std::vector<size_t> operands;      // indices of words
  size_t rest = 0;                   // where the scan ended
  bool unknown_option = false;       // one that the row does not list
};

// kStop: up to the first operand and `program.positionals` more. kPermute: all words.
enum class ScanOrder { kStop, kPermute };

Arguments ScanArguments(const Program& program, const std::vector<std::string>& words,
                        ScanOrder order);

}  // namespace odyssey::rules

#endif  // ODYSSEY_POLICY_RULES_ARGUMENT_SCAN_H_
