#include "ctl/cli/manual.h"

#include <cstdio>
#include <utility>
#include <vector>

#include "common/base/utf8.h"
#include "common/base/version.h"
#include "ctl/base/exit_code.h"
#include "ctl/cli/command_table.h"
#include "ctl/cli/help.h"

namespace odyssey::ctl {
namespace {

constexpr char kDescription[] =
    "Runs commands, and the tools of AI agents, in cells: confined to what a policy grants. A "
    "client "
    "of two daemons, odyssey-supervisor, which makes the cells, and odyssey-agentd, which serves "
    "agents; the command up runs both where they are no services of the host.";

// Beside the options; what a person sets once.
constexpr std::pair<const char*, const char*> kVariables[] = {
    {"ODYSSEY_SOCKET", "agentd's socket, if --socket is not given"},
    {"ODYSSEY_SUPERVISOR_SOCKET", "the supervisor's socket"},
    {"NO_COLOR", "set and not empty: no colour, on a terminal either"}};

constexpr std::pair<const char*, const char*> kFiles[] = {
    {"~/.odyssey", "the state directory of `odyssey-ctl up`"},
    {"/var/lib/odyssey", "that of root, and of the services"},
    {"/run/odyssey", "the sockets of the services"},
    {"/etc/odyssey/policy.d", "the operator's ceiling of the services"},
    {"/etc/odyssey/*.yaml", "settings of the services: odyssey-agentd.yaml(5) and others"},
    {"/usr/share/doc/odyssey", "the documents: OPERATIONS.md, policy/README.md"}};

// Of a character that roff would read as something else, or show as another; nullptr: none.
const char* EscapeOf(char c) {
  switch (c) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";  // that of options, not a hyphen
    case '"':
      return "\\(dq";
    case '\'':
      return "\\(aq";
    case '`':
      return "\\(ga";
    case '^':
      return "\\(ha";
    case '~':
      return "\\(ti";
    default:
      return nullptr;
  }
}

std::string Bold(std::string_view text) { return "\\fB" + ToRoff(text) + "\\fR"; }
std::string Italic(std::string_view text) { return "\\fI" + ToRoff(text) + "\\fR"; }

std::string Section(const char* name) { return ".SH \"" + ToRoff(name) + "\"\n"; }
std::string Paragraph(std::string_view text) { return ".PP\n" + ToRoff(text) + "\n"; }

// A term, already roff, and what it means.
std::string Item(const std::string& term, std::string_view text) {
  return ".TP\n" + term + "\n" + ToRoff(text) + "\n";
}

std::string OptionItem(const OptionSpec& option) {
  std::string term;
  if (option.letter != 0) term = Bold(std::string("-") + option.letter) + ", ";
  term += Bold("--" + std::string(option.name));
  if (option.kind != ValueKind::kFlag) term += " " + Italic(option.value_name);
  return Item(term, std::string(option.help) + (option.repeatable ? " (repeatable)" : ""));
}

std::string CommandPart(const Command& command) {
  std::string out = ".SS \"" + ToRoff(command.name) + "\"\n" + Bold(UsageLine(command)) + "\n";
  out += Paragraph(command.summary);
  for (const OptionSpec& option : command.options) out += OptionItem(option);
  if (!command.notes.empty()) out += Paragraph(command.notes);
  return out;
}

std::string Synopsis() {
  std::string out = Section("SYNOPSIS") + Bold("odyssey-ctl");
  for (const OptionSpec& option : GlobalOptions()) {
    if (option.kind == ValueKind::kFlag) continue;
    out += " [" + Bold("--" + std::string(option.name)) + " " + Italic(option.value_name) + "]";
  }
  return out + " " + Italic("COMMAND") + " ...\n";
}

std::string ExitStatus() {
  const std::pair<int, const char*> codes[] = {{kExitOk, "done"},
                                               {kExitFailed, "failed: stderr says what and why"},
                                               {kExitUsage, "the command line is wrong"},
                                               {kExitPolicyDeny, "policy check: denied"},
                                               {kExitPolicyAsk, "policy check: a person is asked"}};
  std::string out = Section("EXIT STATUS");
  for (const auto& [code, text] : codes) out += Item(Bold(std::to_string(code)), text);
  return out + Paragraph("exec and session exec exit as their command does, and with " +
                         std::to_string(kExitTimedOut) + " to " + std::to_string(kExitOutOfMemory) +
                         " as described there.");
}

std::string Title(std::string_view name, const char* section) {
  return ".\\\" Made from a table of odyssey-ctl; ctl/cli/manual.cc\n.TH " + ToRoff(name) + " " +
         section + " \"\" \"Odyssey " + ToRoff(kVersion) + "\" \"Odyssey\"\n.nh\n.ad l\n";
}

constexpr char kSettingsForm[] =
    "YAML. Files of the directory are read after the first one, in the order of their names. A "
    "value of a later file replaces an earlier one; the members of a list are added, and those of "
    "a map by their names. An empty list or map removes what earlier files said. Sizes are written "
    "as 64m, times as 90s, 15m, 2h or 30d. Files must be root's, and writable by root alone. An "
    "unknown key, a duplicate one or a wrong value is an error with the file's name and line, and "
    "the daemon does not start: check with \"odyssey-ctl config check\".";

// What a key takes, and what holds without it.
std::string SettingItem(const Setting& setting) {
  std::string text(setting.option.help);
  text += setting.shape == Shape::kList  ? ". A list."
          : setting.shape == Shape::kMap ? ". A map."
                                         : ".";
  if (!setting.fallback.empty()) text += " Default: " + std::string(setting.fallback) + ".";
  if (!setting.needs.empty()) text += " Needs " + std::string(setting.needs) + ".";
  if (setting.reloaded) text += " A reload applies it.";
  return Item(Bold(setting.key) + ": " + Italic(setting.option.value_name), text);
}

}  // namespace

std::string SettingsPage(const DaemonSettings& daemon) {
  const std::string name(daemon.name), program(daemon.program);
  std::string out = Title(program + ".yaml", "5");
  out += Section("NAME") + ToRoff(program + ".yaml - settings of " + program + "\n");
  out += Section("SYNOPSIS") + Italic("/etc/odyssey/" + name + ".yaml") + ", " +
         Italic("/etc/odyssey/" + name + ".d/*.yaml") + "\n";
  out += Section("DESCRIPTION") + ToRoff("The service odyssey-" + name +
                                         " reads them when it starts. " + kSettingsForm + "\n");
  out += Paragraph("\"odyssey-ctl up\" reads " + name + ".yaml and " + name +
                   ".d of its state directory, which may not hold the keys that say where "
                   "files are.");
  out += Section("KEYS");
  for (const Setting& setting : daemon.settings) out += SettingItem(setting);
  out += Section("SEE ALSO") + Bold(program) + "(8), " + Bold("odyssey-ctl") + "(1)\n";
  return out;
}

std::string ToRoff(std::string_view text) {
  std::string out;
  bool begins = true;  // a line, where a dot or an apostrophe makes it a request
  while (!text.empty()) {
    const Utf8First first = DecodeUtf8(text);
    const char c = text.front();
    if (begins && c == '.') out += "\\&";
    begins = c == '\n';
    if (first.kind == Utf8Kind::kCharacter && first.length > 1) {
      char name[16];
      snprintf(name, sizeof(name), "\\[u%04X]", static_cast<unsigned>(first.code));
      out += name;
    } else if (const char* escape = EscapeOf(c)) {
      out += escape;
    } else {
      out += c;
    }
    text.remove_prefix(first.length);
  }
  return out;
}

std::string ManualPage() {
  std::string out = Title("ODYSSEY-CTL", "1");
  out += Section("NAME") + "odyssey\\-ctl \\- run commands and agents in cells\n";
  out += Synopsis();
  out += Section("DESCRIPTION") + ToRoff(kDescription) + "\n";
  out += Section("OPTIONS") + ToRoff("Before the command:") + "\n";
  for (const OptionSpec& option : GlobalOptions()) out += OptionItem(option);
  out += Section("COMMANDS");
  for (const Command& command : CommandTable()) out += CommandPart(command);
  out += ExitStatus();
  out += Section("ENVIRONMENT");
  for (const auto& [name, text] : kVariables) out += Item(Bold(name), text);
  out += Section("FILES");
  for (const auto& [name, text] : kFiles) out += Item(Italic(name), text);
  return out;
}

}  // namespace odyssey::ctl
