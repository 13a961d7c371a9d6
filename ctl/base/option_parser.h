#ifndef ODYSSEY_CTL_BASE_OPTION_PARSER_H_
#define ODYSSEY_CTL_BASE_OPTION_PARSER_H_

// The options of a command, declared as data and parsed in one place. Pure.
// Values are checked when they are parsed, so that a command sees only good ones.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::ctl {

enum class ValueKind {
  kFlag,  // takes none
  kText,  // any, not empty
  kFile,  // a path; completed as one
  kDirectory,
  kSize,  // units.h
  kDuration,
  kAge,
  kCpus,
  kNumber,  // min..max
  kChoice,  // one of `choices`
  kEnv,     // NAME or NAME=VALUE
};

struct OptionSpec {
  std::string_view name;  // without "--"
  char letter = 0;        // "-o", 0 = none
  ValueKind kind = ValueKind::kFlag;
  std::string_view value_name;  // "SIZE"; shown in help
  std::string_view help;
  std::vector<std::string_view> choices;
  uint64_t min = 0;  // of kNumber, kSize (bytes), kDuration (ms) and kAge (s)
  uint64_t max = UINT64_MAX;
  bool zero = false;  // "0" is allowed too, whatever the kind
  bool repeatable = false;
};

struct PositionalSpec {
  std::string_view name;  // "BUNDLE"
  ValueKind kind = ValueKind::kText;
  bool required = true;
  // Takes every word that is left, options too, from the first word that is not an option: a
  // command line. Only for the last one.
  bool rest = false;
  // Takes every further word, options among them. Only for the last one.
  bool many = false;
};

// What was given. Asking for an option that the command does not declare is a broken invariant.
class ParsedOptions final {
 public:
  ParsedOptions() = default;
  explicit ParsedOptions(const std::vector<OptionSpec>& specs);

  bool Has(std::string_view name) const { return !All(name).empty(); }
  // "" if not given.
  std::string Text(std::string_view name) const;
  const std::vector<std::string>& All(std::string_view name) const;
  // 0 if not given.
  uint64_t Size(std::string_view name) const;
  uint32_t DurationMs(std::string_view name) const;
  uint32_t CpuMillis(std::string_view name) const;
  uint64_t Number(std::string_view name) const;

  const std::vector<std::string>& words() const { return words_; }
  // The n-th word, "" if there are fewer.
  std::string Word(size_t n) const { return n < words_.size() ? words_[n] : std::string(); }

  void Add(std::string_view name, std::string value);
  void AddWord(std::string word) { words_.push_back(std::move(word)); }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> words_;
};

// Whether a value is one of the option's. INVALID_ARGUMENT names the value and what is allowed.
Status CheckOptionValue(const OptionSpec& spec, const std::string& value);

// INVALID_ARGUMENT naming the option, the value and what is allowed.
Result<ParsedOptions> ParseOptions(const std::vector<OptionSpec>& options,
                                   const std::vector<PositionalSpec>& positionals,
                                   const std::vector<std::string>& arguments);

// Options up to the first word that is not one; `*used` is how many arguments they took.
Result<ParsedOptions> ParseLeadingOptions(const std::vector<OptionSpec>& options,
                                          const std::vector<std::string>& arguments, size_t* used);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_OPTION_PARSER_H_
