#ifndef ODYSSEY_POLICY_MODEL_TOOL_TABLE_H_
#define ODYSSEY_POLICY_MODEL_TOOL_TABLE_H_

// The tools that there are, as data. From it follow the names that a bundle and a scenario may use,
// what the model is offered and its schemas, which argument a permission rule judges, the diff at
// an approval, and the line that odyssey-ctl prints for a call. agentd/tool binds what a tool does.

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::policy {

enum class ToolKind {
  kCommand,     // a command line for sh; the rules split it into simple commands
  kSearches,    // ripgrep, as a command of the cell without a shell
  kSkill,       // a text of the bundle
  kReadsFile,   // an operation of the cell's file worker
  kWritesFile,  // the same; a diff shows beforehand what it would change
  kWorker,      // a turn of another agent of the bundle, in a session of its own
  kJob,         // a command that kCommand has left running
};
enum class ArgumentKind { kString, kBoolean, kCount, kList };
enum class ArgumentNeed {
  kOptional,
  kRequired,
  kFilled,  // required, and not empty
};
enum class InDiff { kNo, kYes };  // whether the diff at an approval shows the argument's text

struct ToolArgument {
  const char* name;
  ArgumentKind kind;
  ArgumentNeed need;
  const char* description;  // for the model
  InDiff in_diff = InDiff::kNo;
  std::span<const ToolArgument> items = {};  // kList: of objects with these
};

struct ToolRow {
  const char* name;
  const char* description;  // for the model
  ToolKind kind;
  const char* subject;  // the argument that a rule's target is matched against
  std::span<const ToolArgument> arguments;
  const char* output;                // the properties of its result, for a JSON schema
  const char* counts_as = nullptr;   // rules for that tool speak of this one too
  const char* comes_with = nullptr;  // offered where that tool is, and nowhere else
};

inline constexpr char kBash[] = "Bash";
inline constexpr char kJob[] = "Job";
inline constexpr char kWorkerCall[] = "worker_call";

inline constexpr char kSkill[] = "Skill";

// In the place of a tool's name: a rule about destinations (policy/rules/network_rules.h).
inline constexpr char kNetworkRule[] = "Network";

// Of kBash: what the call asks for beyond its session's cell, and why.
inline constexpr char kGrantsArgument[] = "grants";
inline constexpr char kGrantReason[] = "reason";

// What kSearches runs. A cell whose programs are named shows it if such a tool is offered.
inline constexpr char kSearchProgram[] = "/usr/bin/rg";

namespace tool_arguments {

inline constexpr auto kGrantArguments = std::to_array<ToolArgument>({
    {"mount_read", ArgumentKind::kString, ArgumentNeed::kOptional,
     "A directory or file of the host to read: an absolute path; then at "
     "/workspace/mount/read/abs/PATH"},
    {"mount_write", ArgumentKind::kString, ArgumentNeed::kOptional,
     "The same to write; then at /workspace/mount/write/abs/PATH"},
    {"executable", ArgumentKind::kString, ArgumentNeed::kOptional,
     "A program to execute: a name or an absolute path"},
    {"network", ArgumentKind::kString, ArgumentNeed::kOptional, "HOST:PORT to connect to"},
    {"limit", ArgumentKind::kString, ArgumentNeed::kOptional,
     "The resource of a denial of kind limit, with value"},
    {"value", ArgumentKind::kCount, ArgumentNeed::kOptional, "What to raise the limit to"},
});

inline constexpr auto kBashArguments = std::to_array<ToolArgument>({
    {"command", ArgumentKind::kString, ArgumentNeed::kRequired,
     "The command line. Output that is cut is in full in the files that full_stdout "
     "and full_stderr name, for Read. Processes that it leaves running are ended with it"},
    {"background", ArgumentKind::kBoolean, ArgumentNeed::kOptional,
     "Start it as a job of the session, for a server or another command that goes on, and return "
     "its job_id; see the tool Job"},
    {"cwd", ArgumentKind::kString, ArgumentNeed::kOptional,
     "Directory to run it in: absolute, or relative to the workspace"},
    {kGrantsArgument, ArgumentKind::kList, ArgumentNeed::kOptional,
     "What the command needs beyond the sandbox; a person is asked. Each names one thing: "
     "mount_read, mount_write, executable, network, or limit and value",
     InDiff::kNo, kGrantArguments},
    {kGrantReason, ArgumentKind::kString, ArgumentNeed::kOptional,
     "With grants: why, for the person"},
});

inline constexpr auto kEditArguments = std::to_array<ToolArgument>({
    {"path", ArgumentKind::kString, ArgumentNeed::kFilled, "The file"},
    {"old_text", ArgumentKind::kString, ArgumentNeed::kFilled, "Text that is there once",
     InDiff::kYes},
    {"new_text", ArgumentKind::kString, ArgumentNeed::kRequired, "What replaces it", InDiff::kYes},
    {"replace_all", ArgumentKind::kBoolean, ArgumentNeed::kOptional, "Replace every occurrence"},
});

inline constexpr auto kGlobArguments = std::to_array<ToolArgument>({
    {"pattern", ArgumentKind::kString, ArgumentNeed::kFilled,
     "*, ?, [a-z], {a,b}; ** for any number of directories. Without a slash it is matched against "
     "names at every depth; with one, from path on"},
    {"path", ArgumentKind::kString, ArgumentNeed::kOptional, "The directory; default: ."},
    {"max_results", ArgumentKind::kCount, ArgumentNeed::kOptional, "Default 200, at most 1000"},
});

inline constexpr auto kGrepArguments = std::to_array<ToolArgument>({
    {"pattern", ArgumentKind::kString, ArgumentNeed::kFilled,
     "A regular expression, for one line, as ripgrep has them"},
    {"path", ArgumentKind::kString, ArgumentNeed::kOptional, "A directory or file; default: ."},
    {"glob", ArgumentKind::kString, ArgumentNeed::kOptional,
     "Search only files that match this pattern of Glob"},
    {"case_insensitive", ArgumentKind::kBoolean, ArgumentNeed::kOptional, "Ignore case"},
    {"context", ArgumentKind::kCount, ArgumentNeed::kOptional,
     "Lines before and after each match, at most 20; each is a row with context: true"},
    {"max_results", ArgumentKind::kCount, ArgumentNeed::kOptional,
     "Rows to return: default 200, at most 1000"},
});

inline constexpr auto kJobArguments = std::to_array<ToolArgument>({
    {"action", ArgumentKind::kString, ArgumentNeed::kFilled,
     "poll: its state, and the output since the last poll; input: write to its stdin, then poll; "
     "stop: end all of its processes, then poll; list: all jobs of the session"},
    {"job_id", ArgumentKind::kString, ArgumentNeed::kOptional, "The job; not with list"},
    {"wait_ms", ArgumentKind::kCount, ArgumentNeed::kOptional,
     "With poll and input: wait so long for new output or the job's end; default 0, at most 60000"},
    {"text", ArgumentKind::kString, ArgumentNeed::kOptional,
     "With input: what to write; end a line with \\n"},
    {"close_stdin", ArgumentKind::kBoolean, ArgumentNeed::kOptional,
     "With input: close stdin after text"},
    {"stdout_offset", ArgumentKind::kCount, ArgumentNeed::kOptional,
     "With poll: byte of stdout to begin at, instead of where the last poll ended"},
    {"stderr_offset", ArgumentKind::kCount, ArgumentNeed::kOptional,
     "With poll: the same for stderr"},
});

inline constexpr auto kListArguments = std::to_array<ToolArgument>({
    {"path", ArgumentKind::kString, ArgumentNeed::kOptional, "The directory; default: ."},
});

inline constexpr auto kMultiEditArguments = std::to_array<ToolArgument>({
    {"path", ArgumentKind::kString, ArgumentNeed::kFilled, "The file"},
    {"edits", ArgumentKind::kList, ArgumentNeed::kFilled,
     "The replacements, in order: each in the text that those before it made", InDiff::kYes,
     std::span(kEditArguments).subspan<1>()},
});

inline constexpr auto kReadArguments = std::to_array<ToolArgument>({
    {"path", ArgumentKind::kString, ArgumentNeed::kFilled, "The file"},
    {"offset", ArgumentKind::kCount, ArgumentNeed::kOptional,
     "Byte to begin at: next_offset of a truncated result"},
    {"max_bytes", ArgumentKind::kCount, ArgumentNeed::kOptional, "Most bytes to return"},
});

inline constexpr auto kSkillArguments = std::to_array<ToolArgument>({
    {"name", ArgumentKind::kString, ArgumentNeed::kOptional, "The skill; without it, list all"},
});

inline constexpr auto kWriteArguments = std::to_array<ToolArgument>({
    {"path", ArgumentKind::kString, ArgumentNeed::kFilled, "The file; its directories are made"},
    {"content", ArgumentKind::kString, ArgumentNeed::kRequired, "Its new content", InDiff::kYes},
});

inline constexpr auto kAttachmentArguments = std::to_array<ToolArgument>({
    {"path", ArgumentKind::kString, ArgumentNeed::kFilled, "A file of the workspace"},
});

inline constexpr auto kWorkerArguments = std::to_array<ToolArgument>({
    {"worker", ArgumentKind::kString, ArgumentNeed::kFilled, "The id of the agent"},
    {"input", ArgumentKind::kString, ArgumentNeed::kFilled, "What it is to do, in full"},
    {"attachments", ArgumentKind::kList, ArgumentNeed::kOptional,
     "Files that it gets a copy of, in /cell/data/attachments", InDiff::kNo, kAttachmentArguments},
});

}  // namespace tool_arguments

// The results, as the properties of JSON schemas.
namespace tool_results {

inline constexpr char kBashResult[] = R"({
  "status_code": {"type": ["integer", "null"]}, "outcome": {"type": "string"},
  "signal": {"type": "integer"}, "stdout": {"type": "string"}, "stderr": {"type": "string"},
  "stdout_truncated": {"type": "boolean"}, "stderr_truncated": {"type": "boolean"},
  "full_stdout": {"type": "string"}, "full_stderr": {"type": "string"},
  "message": {"type": "string"}, "denials": {"type": "array", "items": {"type": "object"}},
  "ended_processes": {"type": "array", "items": {"type": "string"}}, "note": {"type": "string"},
  "network": {"type": "array", "items": {"type": "object"}},
  "job_id": {"type": "string"}, "state": {"enum": ["running", "ended"]},
  "stdout_offset": {"type": "integer"}, "stderr_offset": {"type": "integer"}})";
inline constexpr char kEditResult[] = R"({
  "path": {"type": "string"}, "edited": {"type": "boolean"}, "replacements": {"type": "integer"}})";
inline constexpr char kGlobResult[] = R"({
  "matches": {"type": "array", "items": {"type": "string"}}, "truncated": {"type": "boolean"},
  "denials": {"type": "array", "items": {"type": "object"}}})";
inline constexpr char kGrepResult[] = R"({
  "matches": {"type": "array", "items": {"type": "object", "properties": {
    "path": {"type": "string"}, "line": {"type": "integer"}, "text": {"type": "string"},
    "text_truncated": {"type": "boolean"}, "context": {"type": "boolean"}}}},
  "truncated": {"type": "boolean"}, "denials": {"type": "array", "items": {"type": "object"}}})";
inline constexpr char kJobResult[] = R"({
  "job_id": {"type": "string"}, "state": {"enum": ["running", "ended"]},
  "stdout": {"type": "string"}, "stderr": {"type": "string"},
  "stdout_offset": {"type": "integer"}, "stderr_offset": {"type": "integer"},
  "stdout_dropped": {"type": "integer"}, "stderr_dropped": {"type": "integer"},
  "more": {"type": "boolean"}, "status_code": {"type": ["integer", "null"]},
  "outcome": {"type": "string"}, "signal": {"type": "integer"}, "message": {"type": "string"},
  "denials": {"type": "array", "items": {"type": "object"}},
  "ended_processes": {"type": "array", "items": {"type": "string"}}, "note": {"type": "string"},
  "network": {"type": "array", "items": {"type": "object"}},
  "jobs": {"type": "array", "items": {"type": "object"}}})";
inline constexpr char kListResult[] = R"({
  "path": {"type": "string"}, "truncated": {"type": "boolean"},
  "entries": {"type": "array", "items": {"type": "object", "properties": {
    "name": {"type": "string"}, "path": {"type": "string"},
    "type": {"enum": ["dir", "file", "other", "symlink"]}}}}})";
inline constexpr char kReadResult[] = R"({
  "path": {"type": "string"}, "content": {"type": "string"}, "truncated": {"type": "boolean"},
  "total_bytes": {"type": "integer"}, "next_offset": {"type": "integer"}})";
inline constexpr char kSkillResult[] = R"({
  "skills": {"type": "array", "items": {"type": "object", "properties": {
    "name": {"type": "string"}, "description": {"type": "string"}, "path": {"type": "string"}}}},
  "name": {"type": "string"}, "path": {"type": "string"}, "content": {"type": "string"},
  "truncated": {"type": "boolean"}})";
inline constexpr char kWorkerResult[] = R"({
  "session_id": {"type": "string"}, "output": {"type": "string"}})";
inline constexpr char kWriteResult[] = R"({
  "path": {"type": "string"}, "bytes": {"type": "integer"}})";

}  // namespace tool_results

// Sorted by name.
inline constexpr auto kTools = std::to_array<ToolRow>({
    {kBash, "Run a sandboxed shell command", ToolKind::kCommand, "command",
     tool_arguments::kBashArguments, tool_results::kBashResult},
    {"Edit", "Replace text in a file", ToolKind::kWritesFile, "path",
     tool_arguments::kEditArguments, tool_results::kEditResult},
    {"Glob", "Find files whose path matches a pattern; leaves out what .gitignore names",
     ToolKind::kSearches, "path", tool_arguments::kGlobArguments, tool_results::kGlobResult},
    {"Grep", "Search file contents with a regex; leaves out what .gitignore names",
     ToolKind::kSearches, "path", tool_arguments::kGrepArguments, tool_results::kGrepResult},
    {kJob, "Poll, feed, stop and list the session's background jobs", ToolKind::kJob, "action",
     tool_arguments::kJobArguments, tool_results::kJobResult, nullptr, kBash},
    {"LS", "List visible files and directories", ToolKind::kReadsFile, "path",
     tool_arguments::kListArguments, tool_results::kListResult},
    {"MultiEdit", "Make several replacements in a file, all or none", ToolKind::kWritesFile, "path",
     tool_arguments::kMultiEditArguments, tool_results::kEditResult, "Edit"},
    {"Read", "Read a text file", ToolKind::kReadsFile, "path", tool_arguments::kReadArguments,
     tool_results::kReadResult},
    {kSkill, "List or load bundled skills", ToolKind::kSkill, "name",
     tool_arguments::kSkillArguments, tool_results::kSkillResult},
    {"Write", "Write a text file", ToolKind::kWritesFile, "path", tool_arguments::kWriteArguments,
     tool_results::kWriteResult},
    {kWorkerCall, "Hand work to another agent and wait for its answer", ToolKind::kWorker, "worker",
     tool_arguments::kWorkerArguments, tool_results::kWorkerResult},
});

// Null: there is no such tool.
constexpr const ToolRow* FindTool(std::string_view name) {
  for (const ToolRow& row : kTools) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

// Whether one of these is a tool of this kind.
inline bool AnyOfKind(std::span<const std::string> tools, ToolKind kind) {
  for (const std::string& tool : tools) {
    const ToolRow* row = FindTool(tool);
    if (row != nullptr && row->kind == kind) return true;
  }
  return false;
}

// Begins the names of tools that MCP servers serve: mcp__SERVER__TOOL.
inline constexpr std::string_view kServedPrefix = "mcp__";

// Whether the name, or the pattern of names, is of tools that MCP servers serve.
constexpr bool IsServedTool(std::string_view name) {
  return name.substr(0, kServedPrefix.size()) == kServedPrefix;
}

// Whether the pattern, in which "*" stands for any text, fits the whole text. Goes back to the
// latest "*" alone, so that its time is O(pattern × text).
constexpr bool FitsPattern(std::string_view pattern, std::string_view text) {
  size_t at = 0, from = 0, star = std::string_view::npos;
  for (size_t i = 0; i < text.size();) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      from = i;
    } else if (at < pattern.size() && pattern[at] == text[i]) {
      ++at;
      ++i;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      i = ++from;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

// Whether a rule for `ruled`, which may be "*", speaks of `tool`.
constexpr bool RuleSpeaksOf(std::string_view ruled, std::string_view tool) {
  if (ruled == "*" || ruled == tool) return true;
  if (IsServedTool(tool)) return IsServedTool(ruled) && FitsPattern(ruled, tool);
  const ToolRow* row = FindTool(tool);
  return row != nullptr && row->counts_as != nullptr && ruled == row->counts_as;
}

inline std::vector<std::string> ToolNames() {
  std::vector<std::string> names;
  for (const ToolRow& row : kTools) names.emplace_back(row.name);
  return names;
}

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_MODEL_TOOL_TABLE_H_
