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
  kReadsFile,   // an operation of the cell's file worker
  kWritesFile,  // the same; a diff shows beforehand what it would change
  kWorker,      // a turn of another agent of the bundle, in a session of its own
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
  const char* counts_as = nullptr;  // rules for that tool speak of this one too
};

inline constexpr char kBash[] = "Bash";
inline constexpr char kWorkerCall[] = "worker_call";

namespace tool_arguments {

inline constexpr auto kBashArguments = std::to_array<ToolArgument>({
    {"command", ArgumentKind::kString, ArgumentNeed::kRequired,
     "The command line, for sh -lc. Output that is cut is in full in the files that full_stdout "
     "and full_stderr name, for Read"},
    {"cwd", ArgumentKind::kString, ArgumentNeed::kOptional,
     "Directory to run it in: absolute, or relative to the workspace"},
});

inline constexpr auto kEditArguments = std::to_array<ToolArgument>({
    {"path", ArgumentKind::kString, ArgumentNeed::kFilled, "The file"},
    {"old_text", ArgumentKind::kString, ArgumentNeed::kFilled, "Text that is there once",
     InDiff::kYes},
    {"new_text", ArgumentKind::kString, ArgumentNeed::kRequired, "What replaces it", InDiff::kYes},
    {"replace_all", ArgumentKind::kBoolean, ArgumentNeed::kOptional, "Replace every occurrence"},
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

// Sorted by name.
inline constexpr auto kTools = std::to_array<ToolRow>({
    {kBash, "Run a sandboxed shell command", ToolKind::kCommand, "command",
     tool_arguments::kBashArguments},
    {"Edit", "Replace text in a file", ToolKind::kWritesFile, "path",
     tool_arguments::kEditArguments},
    {"LS", "List visible files and directories", ToolKind::kReadsFile, "path",
     tool_arguments::kListArguments},
    {"MultiEdit", "Make several replacements in a file, all or none", ToolKind::kWritesFile, "path",
     tool_arguments::kMultiEditArguments, "Edit"},
    {"Read", "Read a text file", ToolKind::kReadsFile, "path", tool_arguments::kReadArguments},
    {"Write", "Write a text file", ToolKind::kWritesFile, "path", tool_arguments::kWriteArguments},
    {kWorkerCall, "Hand work to another agent and wait for its answer", ToolKind::kWorker, "worker",
     tool_arguments::kWorkerArguments},
});

// Null: there is no such tool.
constexpr const ToolRow* FindTool(std::string_view name) {
  for (const ToolRow& row : kTools) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

// Whether a rule for `ruled`, which may be "*", speaks of `tool`.
constexpr bool RuleSpeaksOf(std::string_view ruled, std::string_view tool) {
  if (ruled == "*" || ruled == tool) return true;
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
