#include "ctl/tui/slash_command.h"

#include <algorithm>

namespace odyssey::ctl {
namespace {

constexpr std::string_view kBlank = " \t\r\n";
constexpr size_t kIdDigits = 32;

enum class Takes {
  kNothing,
  kWord,    // one
  kRest,    // the rest of the line; "." without one
  kId,      // of a session
  kChoice,  // one; without it the viewer
};

struct Row {
  std::string_view word;
  std::string_view second;  // "": any, or none
  Verb verb;
  Takes takes;
  std::string_view usage;
};

constexpr std::string_view kBundleUsage =
    "usage: /bundle install [path] | /bundle use <bundle_ref>";
constexpr std::string_view kSessionUsage = "usage: /session <id>|new|join <id>";

// The first row with the word, and with the second one, is meant.
constexpr Row kRows[] = {
    {"new", "", Verb::kNew, Takes::kNothing, "usage: /new"},
    {"bundle", "install", Verb::kBundleInstall, Takes::kRest, kBundleUsage},
    {"bundle", "use", Verb::kBundleUse, Takes::kWord, "usage: /bundle use <bundle_ref>"},
    {"bundle", "", Verb::kBundleUse, Takes::kWord, kBundleUsage},
    {"bundles", "", Verb::kBundles, Takes::kNothing, "usage: /bundles"},
    {"agents", "", Verb::kAgents, Takes::kNothing, "usage: /agents"},
    {"agent", "list", Verb::kAgents, Takes::kNothing, "usage: /agent [list|<id>]"},
    {"agent", "", Verb::kAgent, Takes::kChoice, "usage: /agent [list|<id>]"},
    {"sessions", "", Verb::kSessions, Takes::kNothing, "usage: /sessions"},
    {"session", "new", Verb::kNew, Takes::kNothing, kSessionUsage},
    {"session", "list", Verb::kSessions, Takes::kNothing, kSessionUsage},
    {"session", "skills", Verb::kSkills, Takes::kNothing, kSessionUsage},
    {"session", "join", Verb::kJoin, Takes::kId, "usage: /session join <session_id>"},
    {"session", "", Verb::kJoin, Takes::kId, kSessionUsage},
    {"join", "", Verb::kJoin, Takes::kId, "usage: /join <session_id>"},
    {"skills", "", Verb::kSkills, Takes::kNothing, "usage: /skills"},
    {"models", "", Verb::kModels, Takes::kNothing, "usage: /models"},
    {"model", "list", Verb::kModels, Takes::kNothing, "usage: /model [list|<id>]"},
    {"model", "", Verb::kModel, Takes::kChoice, "usage: /model [list|<id>]"},
    {"theme", "list", Verb::kThemes, Takes::kNothing, "usage: /theme [list|<name>]"},
    {"theme", "", Verb::kTheme, Takes::kChoice, "usage: /theme [list|<name>]"},
    {"approvals", "", Verb::kApprovals, Takes::kNothing, "usage: /approvals"},
    {"dashboard", "", Verb::kDashboard, Takes::kNothing, "usage: /dashboard"},
    {"cancel", "", Verb::kCancel, Takes::kNothing, "usage: /cancel"},
    {"help", "", Verb::kHelp, Takes::kNothing, "usage: /help"},
    {"quit", "", Verb::kQuit, Takes::kNothing, "usage: /quit"},
};

constexpr PaletteEntry kPalette[] = {
    {"new", "a new session of the bundle"},
    {"bundle", "install [path], use <bundle_ref>, or <bundle_ref>"},
    {"bundles", "installed bundles"},
    {"agents", "agents of the bundle"},
    {"agent", "<id>: of the next session"},
    {"sessions", "your sessions"},
    {"skills", "skills of the bundle"},
    {"models", "models of the bundle's agents"},
    {"theme", "<name>: colours"},
    {"join", "<session_id>: show another session"},
    {"model", "<id>: the agent that uses it"},
    {"approvals", "requests of all sessions that wait"},
    {"dashboard", "cells, sessions, denials"},
    {"cancel", "the running turn"},
    {"help", "commands and keys"},
    {"quit", "leave; what runs goes on"},
};

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Takes the first word off.
std::string_view TakeWord(std::string_view* text) {
  *text = Trim(*text);
  const std::string_view word = text->substr(0, text->find_first_of(kBlank));
  *text = Trim(text->substr(word.size()));
  return word;
}

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

ParsedSlash Fail(std::string_view error) { return {std::nullopt, std::string(error)}; }
ParsedSlash Accept(Verb verb, std::string_view argument = "") {
  return {SlashCommand{verb, std::string(argument)}, ""};
}

Verb ViewerOf(Verb verb) {
  switch (verb) {
    case Verb::kAgent:
      return Verb::kAgents;
    case Verb::kModel:
      return Verb::kModels;
    default:
      return Verb::kThemes;
  }
}

ParsedSlash Apply(const Row& row, std::string_view rest) {
  const bool one_word = !rest.empty() && rest.find_first_of(kBlank) == std::string_view::npos;
  switch (row.takes) {
    case Takes::kNothing:
      return rest.empty() ? Accept(row.verb) : Fail(row.usage);
    case Takes::kWord:
      return one_word ? Accept(row.verb, rest) : Fail(row.usage);
    case Takes::kRest:
      return Accept(row.verb, rest.empty() ? "." : rest);
    case Takes::kId: {
      if (!one_word) return Fail(row.usage);
      const std::optional<std::string> id = SessionIdOf(rest);
      return id ? Accept(row.verb, *id) : Fail("invalid session id");
    }
    case Takes::kChoice:
      if (rest.empty()) return Accept(ViewerOf(row.verb));
      return one_word ? Accept(row.verb, rest) : Fail(row.usage);
  }
  return Fail(row.usage);
}

}  // namespace

std::optional<std::string> SessionIdOf(std::string_view text) {
  std::string digits = Lower(text);
  constexpr size_t kDashes[] = {8, 13, 18, 23};
  if (digits.substr(0, 4) == "ses_") {
    digits.erase(0, 4);
  } else {
    for (const size_t at : kDashes) {
      if (at >= digits.size() || digits[at] != '-') return std::nullopt;
    }
    digits.erase(std::remove(digits.begin(), digits.end(), '-'), digits.end());
  }
  const bool hex = digits.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (digits.size() != kIdDigits || !hex) return std::nullopt;
  return "ses_" + digits;
}

std::optional<ParsedSlash> ParseSlash(std::string_view line) {
  std::string_view rest = Trim(line);
  if (rest.empty() || rest.front() != '/') return std::nullopt;
  rest.remove_prefix(1);
  if (rest.empty()) return std::nullopt;
  const std::string_view typed = TakeWord(&rest);
  const std::string word = Lower(typed);
  std::string_view after_second = rest;
  const std::string second = Lower(TakeWord(&after_second));
  for (const Row& row : kRows) {
    if (row.word != word) continue;
    if (row.second.empty()) return Apply(row, rest);
    if (row.second == second) return Apply(row, after_second);
  }
  return Fail("unknown command: " + std::string(typed));
}

std::vector<PaletteEntry> PaletteOf(std::string_view line) {
  std::vector<PaletteEntry> out;
  if (line.empty() || line.front() != '/') return out;
  line.remove_prefix(1);
  if (line.find_first_of(kBlank) != std::string_view::npos) return out;
  const std::string prefix = Lower(line);
  for (const PaletteEntry& entry : kPalette) {
    if (entry.name.substr(0, prefix.size()) == prefix) out.push_back(entry);
  }
  return out;
}

const std::vector<PaletteEntry>& CommandForms() {
  static const std::vector<PaletteEntry>& forms = *new std::vector<PaletteEntry>{
      {"/new  /session new", "a new session of the bundle"},
      {"/bundle install [path]", "pack the directory, install it, and use it"},
      {"/bundle use <ref>  /bundle <ref>", "the bundle of the next session"},
      {"/bundles  /agents  /sessions", "viewers"},
      {"/skills  /models", "viewers"},
      {"/agent <id>  /model <id>", "the agent of the next session"},
      {"/theme <name>", "colours; /theme lists them"},
      {"/join <id>  /session <id>", "show another session"},
      {"/session list  /session skills", "the same viewers"},
      {"/approvals", "what your sessions ask; y, a, n answer"},
      {"/dashboard", "cells, sessions, denials"},
      {"/cancel", "cancel the running turn"},
      {"/help  /quit", ""},
      {"!command", "run it in the session's cell"},
  };
  return forms;
}

}  // namespace odyssey::ctl
