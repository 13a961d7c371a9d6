#include "ctl/base/option_parser.h"

#include <optional>

#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"

namespace odyssey::ctl {
namespace {

std::string Shown(std::string_view text) { return Sanitize(text, Lines::kOne); }

std::string JoinChoices(const std::vector<std::string_view>& choices) {
  std::string out;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) out += i + 1 == choices.size() ? " or " : ", ";
    out += choices[i];
  }
  return out;
}

bool IsName(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '_') return false;
  }
  return true;
}

Status CheckChoice(const OptionSpec& spec, const std::string& value) {
  for (const std::string_view choice : spec.choices) {
    if (choice == value) return OkStatus();
  }
  return InvalidArgument("\"" + Shown(value) + "\": expected " + JoinChoices(spec.choices));
}

// "64 KiB", "7 d": how a bound of the option is written.
std::string BoundText(const OptionSpec& spec, uint64_t bound) {
  switch (spec.kind) {
    case ValueKind::kSize:
      return FormatSize(bound);
    case ValueKind::kDuration:
      return std::to_string(bound / 1000) + "s";
    default:
      return std::to_string(bound) + "s";
  }
}

// A quantity with bounds of its option's own.
Status CheckBounds(const OptionSpec& spec, const std::string& text,
                   const Result<uint64_t>& quantity) {
  ODY_RETURN_IF_ERROR(quantity.status());
  const std::string zero = spec.zero ? "0, or " : "";
  if (*quantity < spec.min) {
    return InvalidArgument("\"" + Shown(text) + "\": expected " + zero + "at least " +
                           BoundText(spec, spec.min));
  }
  if (*quantity > spec.max) {
    return InvalidArgument("\"" + Shown(text) + "\": expected at most " +
                           BoundText(spec, spec.max));
  }
  return OkStatus();
}

Result<uint64_t> ParseDuration(const std::string& text) {
  ODY_ASSIGN_OR_RETURN(const uint32_t ms, ParseDurationMs(text));
  return uint64_t{ms};
}

// One argument list being read from the left.
class Scanner {
 public:
  Scanner(const std::vector<OptionSpec>& specs, const std::vector<std::string>& arguments)
      : specs_(specs), arguments_(arguments), out_(specs) {}

  bool AtEnd() const { return at_ >= arguments_.size(); }
  const std::string& Current() const { return arguments_[at_]; }
  bool AtOption() const { return Current().size() > 1 && Current()[0] == '-'; }
  std::string Take() { return arguments_[at_++]; }
  size_t at() const { return at_; }
  ParsedOptions& out() { return out_; }

  // Reads the option at the current place.
  Status TakeOption() {
    const std::string argument = Take();
    std::optional<std::string> value;
    const OptionSpec* spec = Find(argument, &value);
    if (spec == nullptr) return InvalidArgument("unknown option " + Shown(argument));
    const std::string name = "--" + std::string(spec->name);
    if (spec->kind == ValueKind::kFlag) {
      if (value) return InvalidArgument(name + " takes no value, got \"" + Shown(*value) + "\"");
      value = "true";
    } else if (!value) {
      if (AtEnd())
        return InvalidArgument(name + " needs a value: " + std::string(spec->value_name));
      value = Take();
    }
    if (!spec->repeatable && out_.Has(spec->name)) {
      return InvalidArgument(name + " \"" + Shown(*value) + "\": given twice, allowed once");
    }
    if (const Status status = CheckOptionValue(*spec, *value); !status.ok()) {
      return InvalidArgument(name + " " + status.message());
    }
    out_.Add(spec->name, std::move(*value));
    return OkStatus();
  }

 private:
  // "--name", "--name=value", "-n", "-nvalue".
  const OptionSpec* Find(const std::string& argument, std::optional<std::string>* value) const {
    if (argument.compare(0, 2, "--") != 0) {
      for (const OptionSpec& spec : specs_) {
        if (spec.letter == 0 || spec.letter != argument[1]) continue;
        if (argument.size() > 2) *value = argument.substr(2);
        return &spec;
      }
      return nullptr;
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    for (const OptionSpec& spec : specs_) {
      if (spec.name != name) continue;
      if (equals != std::string::npos) *value = argument.substr(equals + 1);
      return &spec;
    }
    return nullptr;
  }

  const std::vector<OptionSpec>& specs_;
  const std::vector<std::string>& arguments_;
  size_t at_ = 0;
  ParsedOptions out_;
};

Status CheckWords(const std::vector<PositionalSpec>& positionals,
                  const std::vector<std::string>& words) {
  for (size_t i = 0; i < positionals.size(); ++i) {
    const bool given = i < words.size() && (positionals[i].rest || !words[i].empty());
    if (positionals[i].required && !given) {
      return InvalidArgument(std::string(positionals[i].name) + " is missing");
    }
  }
  const bool open_ended =
      !positionals.empty() && (positionals.back().rest || positionals.back().many);
  if (!open_ended && words.size() > positionals.size()) {
    return InvalidArgument("unexpected argument \"" + Shown(words[positionals.size()]) + "\"");
  }
  return OkStatus();
}

}  // namespace

Status CheckOptionValue(const OptionSpec& spec, const std::string& value) {
  if (spec.zero && value == "0") return OkStatus();
  switch (spec.kind) {
    case ValueKind::kFlag:
      return OkStatus();
    case ValueKind::kText:
    case ValueKind::kFile:
    case ValueKind::kDirectory:
      return value.empty() ? InvalidArgument("\"\": expected a value that is not empty")
                           : OkStatus();
    case ValueKind::kSize:
      return CheckBounds(spec, value, ParseSize(value));
    case ValueKind::kDuration:
      return CheckBounds(spec, value, ParseDuration(value));
    case ValueKind::kAge:
      return CheckBounds(spec, value, ParseAgeS(value));
    case ValueKind::kCpus:
      return ParseCpus(value).status();
    case ValueKind::kNumber:
      return ParseNumber(value, spec.min, spec.max).status();
    case ValueKind::kChoice:
      return CheckChoice(spec, value);
    case ValueKind::kEnv:
      if (IsName(value.substr(0, value.find('=')))) return OkStatus();
      return InvalidArgument("\"" + Shown(value) +
                             "\": expected NAME or NAME=VALUE, with NAME of letters, digits and _");
  }
  return OkStatus();
}

ParsedOptions::ParsedOptions(const std::vector<OptionSpec>& specs) {
  for (const OptionSpec& spec : specs) values_[std::string(spec.name)] = {};
}

const std::vector<std::string>& ParsedOptions::All(std::string_view name) const {
  const auto found = values_.find(name);
  ODY_CHECK(found != values_.end());
  return found->second;
}

std::string ParsedOptions::Text(std::string_view name) const {
  const std::vector<std::string>& all = All(name);
  return all.empty() ? std::string() : all.back();
}

uint64_t ParsedOptions::Size(std::string_view name) const {
  return Has(name) && Text(name) != "0" ? ParseSize(Text(name)).value() : 0;
}

uint32_t ParsedOptions::DurationMs(std::string_view name) const {
  return Has(name) && Text(name) != "0" ? ParseDurationMs(Text(name)).value() : 0;
}

uint32_t ParsedOptions::CpuMillis(std::string_view name) const {
  return Has(name) ? ParseCpus(Text(name)).value() : 0;
}

uint64_t ParsedOptions::Number(std::string_view name) const {
  return Has(name) ? ParseNumber(Text(name), 0, UINT64_MAX).value() : 0;
}

void ParsedOptions::Add(std::string_view name, std::string value) {
  const auto found = values_.find(name);
  ODY_CHECK(found != values_.end());
  found->second.push_back(std::move(value));
}

Result<ParsedOptions> ParseOptions(const std::vector<OptionSpec>& options,
                                   const std::vector<PositionalSpec>& positionals,
                                   const std::vector<std::string>& arguments) {
  Scanner scanner(options, arguments);
  bool options_over = false;
  size_t words = 0;
  while (!scanner.AtEnd()) {
    if (!options_over && scanner.Current() == "--") {
      scanner.Take();
      options_over = true;
      continue;
    }
    if (!options_over && scanner.AtOption()) {
      ODY_RETURN_IF_ERROR(scanner.TakeOption());
      continue;
    }
    if (words < positionals.size() && positionals[words].rest) options_over = true;
    scanner.out().AddWord(scanner.Take());
    ++words;
  }
  ODY_RETURN_IF_ERROR(CheckWords(positionals, scanner.out().words()));
  return std::move(scanner.out());
}

Result<ParsedOptions> ParseLeadingOptions(const std::vector<OptionSpec>& options,
                                          const std::vector<std::string>& arguments, size_t* used) {
  Scanner scanner(options, arguments);
  while (!scanner.AtEnd() && scanner.AtOption()) ODY_RETURN_IF_ERROR(scanner.TakeOption());
  *used = scanner.at();
  return std::move(scanner.out());
}

}  // namespace odyssey::ctl
