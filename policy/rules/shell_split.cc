#include "policy/rules/shell_split.h"

#include "policy/rules/shell_parser.h"
#include "policy/rules/shell_wrappers.h"

namespace odyssey::rules {

Result<ShellLine> SplitShell(std::string_view command) {
  if (command.find('\0') != std::string_view::npos) return InvalidArgument("a NUL byte");
  ShellLine out;
  ODY_RETURN_IF_ERROR(ShellParser(command, 0, &out).Parse());
  return out;
}

void SplitNested(std::string_view command, int depth, ShellLine* out) {
  const Status status = ShellParser(command, depth, out).Parse();
  if (!status.ok()) AddOpaque("a nested command: " + status.message(), RiskClass::kUnknown, out);
}

}  // namespace odyssey::rules
