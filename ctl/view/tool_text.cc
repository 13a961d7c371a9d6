#include "ctl/view/tool_text.h"

#include <algorithm>
#include <string_view>

#include "ctl/base/console.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"
#include "policy/model/tool_table.h"

namespace odyssey::ctl {
namespace {

std::string OneLine(std::string_view text, size_t width) {
  return Shorten(Sanitize(text, Lines::kOne), width);
}

std::string Compact(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string AsText(const Json& value) {
  return value.is_string() ? value.get<std::string>() : Compact(value);
}

size_t CountLines(std::string_view text) {
  const auto newlines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  return newlines + (text.empty() || text.back() == '\n' ? 0 : 1);
}

std::string Count(size_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

bool NeedsQuotes(const std::string& word) {
  static constexpr std::string_view kPlain = "@%+=:,./-_";
  for (const char c : word) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && kPlain.find(c) == std::string_view::npos) return true;
  }
  return word.empty();
}

// "name: value" with further lines of the value below it.
void AppendArgument(const std::string& name, const std::string& value, const std::string& indent,
                    std::string* out) {
  *out += indent + Sanitize(name, Lines::kOne) + ": ";
  const std::string text = Sanitize(value);
  for (size_t i = 0; i < text.size(); ++i) {
    *out += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) *out += indent + "  ";
  }
  if (text.empty() || text.back() != '\n') *out += "\n";
}

bool IsInDiff(const std::string& tool, const std::string& argument) {
  const policy::ToolRow* row = policy::FindTool(tool);
  if (row == nullptr) return false;
  return std::any_of(row->arguments.begin(), row->arguments.end(),
                     [&](const policy::ToolArgument& known) {
                       return argument == known.name && known.in_diff == policy::InDiff::kYes;
                     });
}

std::string CutLines(const std::string& text, const std::string& indent, size_t max_lines) {
  const size_t lines = CountLines(text);
  if (lines <= max_lines) return text;
  size_t at = 0;
  for (size_t i = 0; i < max_lines; ++i) at = text.find('\n', at) + 1;
  return text.substr(0, at) + indent + "… " + Count(lines - max_lines, "more line", "more lines") +
         "; " + kShowsAll + "\n";
}

}  // namespace

std::string SummarizeCall(const std::string& tool, const std::string& arguments_json,
                          size_t width) {
  const Json arguments = Json::parse(arguments_json, nullptr, false);
  if (!arguments.is_object()) return OneLine(arguments_json, width);
  if (const policy::ToolRow* row = policy::FindTool(tool)) {
    const auto found = arguments.find(row->subject);
    if (found != arguments.end() && found->is_string()) {
      return OneLine(found->get<std::string>(), width);
    }
  }
  return arguments.empty() ? std::string() : OneLine(Compact(arguments), width);
}

std::string SummarizeResult(const std::string& result_json, bool success, size_t width) {
  const Json result = Json::parse(result_json, nullptr, false);
  if (!result.is_object()) return success ? std::string() : OneLine(result_json, width);
  if (!success) {
    const auto error = result.find("error");
    return OneLine(error == result.end() ? result_json : AsText(*error), width);
  }
  if (const auto found = result.find("content"); found != result.end() && found->is_string()) {
    const std::string content = found->get<std::string>();
    return Count(CountLines(content), "line", "lines") + ", " + FormatSize(content.size());
  }
  if (const auto found = result.find("bytes");
      found != result.end() && found->is_number_unsigned()) {
    return FormatSize(found->get<uint64_t>());
  }
  if (const auto found = result.find("entries"); found != result.end() && found->is_array()) {
    return Count(found->size(), "entry", "entries");
  }
  if (const auto found = result.find("matches"); found != result.end() && found->is_array()) {
    return Count(found->size(), "match", "matches");
  }
  return "";
}

std::string ExactArguments(const std::string& arguments_json, const std::string& indent,
                           size_t max_lines) {
  const Json arguments = Json::parse(arguments_json, nullptr, false);
  if (!arguments.is_object()) {
    std::string out;
    AppendArgument("arguments", arguments_json, indent, &out);
    return CutLines(out, indent, max_lines);
  }
  // Short ones first: a long text must not push a path out of sight.
  std::string brief;
  std::string extended;
  for (const auto& [name, value] : arguments.items()) {
    const std::string text = AsText(value);
    AppendArgument(name, text, indent, text.find('\n') == std::string::npos ? &brief : &extended);
  }
  return CutLines(brief + extended, indent, max_lines);
}

std::string BriefArguments(const std::string& tool, const std::string& arguments_json,
                           const std::string& indent, size_t max_lines) {
  const Json arguments = Json::parse(arguments_json, nullptr, false);
  if (!arguments.is_object()) return ExactArguments(arguments_json, indent, max_lines);
  std::string out;
  for (const auto& [name, value] : arguments.items()) {
    std::string text = AsText(value);
    if (IsInDiff(tool, name) && value.is_array()) {
      text = Count(value.size(), "entry", "entries") + ", see the diff";
    } else if (IsInDiff(tool, name) && text.find('\n') != std::string::npos) {
      text = Count(CountLines(text), "line", "lines") + ", see the diff";
    }
    AppendArgument(name, text, indent, &out);
  }
  return CutLines(out, indent, max_lines);
}

std::string JoinCommand(const std::vector<std::string>& argv) {
  std::string out;
  for (const std::string& word : argv) {
    if (!out.empty()) out += ' ';
    if (!NeedsQuotes(word)) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

}  // namespace odyssey::ctl
