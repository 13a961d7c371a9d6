#include "agentd/tool/search_tools.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "agentd/event/command_events.h"
#include "agentd/tool/arguments.h"
#include "agentd/tool/cell_path.h"
#include "agentd/tool/ignored_paths.h"
#include "agentd/tool/path_glob.h"
#include "agentd/tool/tool_denial.h"
#include "agentd/tool/tool_result.h"
#include "common/base/control.h"
#include "common/base/utf8.h"
#include "policy/model/request.h"

namespace odyssey::tools {
namespace {

namespace pb = ::odyssey::supervisor::v1;
using Json = nlohmann::json;

constexpr uint64_t kDefaultResults = 200;
constexpr uint64_t kMaxResults = 1000;
constexpr uint64_t kMaxContext = 20;
constexpr size_t kMaxLineBytes = size_t{4} << 20;  // of ripgrep's output; a longer one is left out
constexpr size_t kMaxTextBytes = 1000;             // of a line in a result
constexpr size_t kMaxErrorBytes = 4096;            // of ripgrep's stderr

// Searches follow .gitignore, .git/info/exclude and the .gitignore of parent directories, also
// where there is no repository. No configuration and no ignore file of a user is read.
const std::vector<std::string>& CommonArguments() {
  static const std::vector<std::string> arguments = {
      policy::kSearchProgram, "--no-config",        "--no-messages",   "--hidden",
      "--no-require-git",     "--no-ignore-global", "--no-ignore-dot", "--no-ignore-messages",
      "--color=never",        "--glob=!.git"};
  return arguments;
}

// The path as ripgrep is given it, and as its output begins with it.
std::string RootOf(const Arguments& given) {
  std::string path = given.String("path");
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.empty() ? "." : path;
}

// "a/b" of "./a/b".
std::string Shown(std::string_view path) {
  while (path.substr(0, 2) == "./") path.remove_prefix(2);
  return std::string(path);
}

// What globs are matched against: the path below `root`; of a file that is `root`, its name.
std::string_view Below(std::string_view path, std::string_view root) {
  if (root == ".") return path;
  if (path == root) return path.substr(path.rfind('/') + 1);
  const size_t prefix = root.back() == '/' ? root.size() : root.size() + 1;
  return path.size() > prefix ? path.substr(prefix) : path;
}

// Calls `take` with each line, which `end` ends. A line that is too long is dropped.
class LineSplitter final {
 public:
  explicit LineSplitter(char end) : end_(end) {}

  template <typename Take>
  void Push(std::string_view data, const Take& take) {
    while (!data.empty()) {
      const size_t end = data.find(end_);
      const std::string_view piece = data.substr(0, end);
      if (pending_.size() + piece.size() > kMaxLineBytes) dropping_ = dropped_ = true;
      if (!dropping_) pending_ += piece;
      if (end == std::string_view::npos) return;
      if (!dropping_) take(pending_);
      pending_.clear();
      dropping_ = false;
      data.remove_prefix(end + 1);
    }
  }
  bool dropped() const { return dropped_; }

 private:
  const char end_;
  std::string pending_;
  bool dropping_ = false;
  bool dropped_ = false;
};

// The first `most` rows by path and line, whatever the order in which they come.
class FirstRows final {
 public:
  using Key = std::pair<std::string, uint64_t>;

  explicit FirstRows(size_t most) : most_(most) {}

  void Add(Key key, Json row) {
    if (rows_.size() == most_ && key > rows_.rbegin()->first) {
      truncated_ = true;
      return;
    }
    rows_.insert_or_assign(std::move(key), std::move(row));
    if (rows_.size() <= most_) return;
    rows_.erase(std::prev(rows_.end()));
    truncated_ = true;
  }
  bool truncated() const { return truncated_; }
  bool empty() const { return rows_.empty(); }
  Json Take() {
    Json out = Json::array();
    for (auto& [key, row] : rows_) out.push_back(std::move(row));
    return out;
  }

 private:
  const size_t most_;
  std::map<Key, Json> rows_;
  bool truncated_ = false;
};

// What the arguments ask for.
struct Query {
  std::vector<std::string> argv;
  std::string root;
  std::optional<PathGlob> glob;
  size_t most = kDefaultResults;
  char line_end = '\n';
};

Result<Query> BaseQuery(const Arguments& given) {
  Query out;
  out.argv = CommonArguments();
  out.root = RootOf(given);
  const uint64_t most = given.Count("max_results");
  if (most > kMaxResults) {
    return InvalidArgument("max_results is " + std::to_string(most) + "; at most " +
                           std::to_string(kMaxResults));
  }
  if (most != 0) out.most = most;
  return out;
}

Result<Query> GlobQuery(const Arguments& given) {
  ODY_ASSIGN_OR_RETURN(Query out, BaseQuery(given));
  ODY_ASSIGN_OR_RETURN(out.glob, PathGlob::Parse(given.String("pattern")));
  out.argv.emplace_back("--files");
  out.argv.emplace_back("--null");  // a name may hold a newline
  out.line_end = '\0';
  return out;
}

// The glob is matched here: ripgrep's --glob would bring back what .gitignore leaves out.
Result<Query> GrepQuery(const Arguments& given) {
  ODY_ASSIGN_OR_RETURN(Query out, BaseQuery(given));
  const std::string glob = given.String("glob");
  if (!glob.empty()) {
    ODY_ASSIGN_OR_RETURN(out.glob, PathGlob::Parse(glob));
  }
  const uint64_t context = given.Count("context");
  if (context > kMaxContext) {
    return InvalidArgument("context is " + std::to_string(context) + "; at most " +
                           std::to_string(kMaxContext));
  }
  out.argv.emplace_back("--json");
  out.argv.push_back("--max-count=" + std::to_string(out.most + 1));
  if (context != 0) out.argv.push_back("--context=" + std::to_string(context));
  if (given.Boolean("case_insensitive")) out.argv.emplace_back("--ignore-case");
  out.argv.push_back("--regexp=" + given.String("pattern"));
  return out;
}

// A line of a result: without its end, and cut.
void SetText(std::string text, Json* row) {
  StripLineEnd(&text);
  if (text.size() > kMaxTextBytes) {
    text.resize(kMaxTextBytes);
    text.resize(CompleteUtf8Prefix(text));
    (*row)["text_truncated"] = true;
  }
  (*row)["text"] = std::move(text);
}

// {"text": …} of ripgrep's; nothing: it is not UTF-8, and is {"bytes": …}.
std::optional<std::string> TextOf(const Json& value) {
  const auto text = value.find("text");
  if (text == value.end() || !text->is_string()) return std::nullopt;
  return text->get<std::string>();
}

class Search final {
 public:
  Search(ToolContext& context, Query query)
      : context_(context), query_(std::move(query)), rows_(query_.most), lines_(query_.line_end) {}

  // `take_line` adds the rows of one line of ripgrep's output.
  using TakeLine = void (Search::*)(const std::string& line);

  Result<ToolResult> Run(TakeLine take_line) {
    const sandbox::ExecSink sink{
        [](const pb::ExecStarted&) { return OkStatus(); },
        [&](const pb::ExecOutput& output) {
          if (output.stream() == pb::OUTPUT_STREAM_STDERR) {
            error_ += output.data();
          } else {
            lines_.Push(output.data(), [&](const std::string& line) { (this->*take_line)(line); });
          }
          return OkStatus();
        },
        [this](const pb::Denial& denial) {
          denials_.push_back(DenialForModel(denial));
          return context_.emit(
              event::AccessIsDenied(context_.turn_id, context_.tool_call_id, denial));
        }};
    const Result<pb::ExecOutcome> ended = context_.sandbox->Exec(ToStart(), sink, context_.stop);
    if (!ended.ok() && EndsTurn(ended.status())) return ended.status();
    if (!ended.ok()) return FailedWith(ended.status());
    const Status checked = Check(*ended);
    if (EndsTurn(checked)) return checked;
    return checked.ok() ? Answer(*ended) : FailedWith(checked);
  }

  void TakeFile(const std::string& line) {
    const std::string path = Shown(line);
    if (IsValidUtf8(path) && Wants(path)) rows_.Add({path, 0}, path);
  }

  void TakeMatch(const std::string& line) {
    const Json message = Json::parse(line, nullptr, false);
    if (!message.is_object()) return;
    const std::string type = message.value("type", "");
    if (type != "match" && type != "context") return;
    const Json& data = message["data"];
    const std::optional<std::string> found = TextOf(data["path"]);
    std::optional<std::string> text = TextOf(data["lines"]);
    if (!found || !text || !data["line_number"].is_number_unsigned()) return;
    const std::string path = Shown(*found);
    if (!Wants(path)) return;
    const uint64_t number = data["line_number"].get<uint64_t>();
    Json row = {{"path", path}, {"line", number}};
    if (type == "context") row["context"] = true;
    SetText(*std::move(text), &row);
    rows_.Add({path, number}, std::move(row));
  }

 private:
  pb::ExecStart ToStart() const {
    pb::ExecStart out;
    out.set_cell_id(context_.cell_id);
    for (const std::string& word : query_.argv) out.add_argv(word);
    out.add_argv("--");
    out.add_argv(query_.root);
    out.set_default_wall_clock_ms(context_.wall_clock_ms);
    out.set_stdout_cap_bytes(policy::kMaxOutputBytes);
    out.set_stderr_cap_bytes(kMaxErrorBytes);
    return out;
  }

  bool Wants(const std::string& path) const {
    if (query_.glob && !query_.glob->Matches(Below(path, query_.root))) return false;
    return !context_.is_hidden || !context_.is_hidden(path);
  }

  ToolResult FailedWith(const Status& status) const {
    ToolResult result = Failure(status);
    if (denials_.empty()) return result;
    Json with_denials = Json::parse(result.json);
    with_denials["denials"] = denials_;
    result.json = with_denials.dump();
    return result;
  }

  // OK if what ripgrep printed is the answer.
  Status Check(const pb::ExecOutcome& ended) {
    const std::string program = policy::kSearchProgram;
    switch (ended.kind()) {
      case pb::OUTCOME_KIND_EXITED:
        return ended.exit_code() < 2 ? OkStatus() : CheckError();
      case pb::OUTCOME_KIND_TIMED_OUT:
        return Internal(program + ": " + ended.message() + "; search a smaller path");
      case pb::OUTCOME_KIND_OOM_KILLED:
        return Internal("search reached the cell's memory limit; search a smaller path");
      case pb::OUTCOME_KIND_NOT_FOUND:
        return Internal(program + ": not in the cell; the host needs the package ripgrep");
      case pb::OUTCOME_KIND_DENIED:
        return PermissionDenied(program + ": the policy does not let it execute");
      default:
        return Internal(program + ": " +
                        (ended.message().empty() ? "ended by a signal" : ended.message()));
    }
  }

  // Exit code 2: ripgrep does not take the pattern, which it prints; or some file could not be
  // read, about which it is silent, as about a root that does not exist.
  Status CheckError() {
    if (!error_.empty())
      return InvalidArgument(error_.substr(0, error_.find_last_not_of(" \n") + 1));
    if (!rows_.empty() || query_.root == ".") return OkStatus();
    const Status listed = context_.sandbox->ListFiles(context_.cell_id, query_.root).status();
    const bool is_there = listed.ok() || listed.code() == Code::kFailedPrecondition;
    return is_there ? OkStatus() : listed;
  }

  ToolResult Answer(const pb::ExecOutcome& ended) {
    const bool truncated = rows_.truncated() || ended.stdout_truncated() || lines_.dropped();
    Json result = {{"matches", rows_.Take()}, {"truncated", truncated}};
    if (!denials_.empty()) result["denials"] = denials_;
    return {result.dump(-1, ' ', false, Json::error_handler_t::replace), true};
  }

  ToolContext& context_;
  const Query query_;
  FirstRows rows_;
  LineSplitter lines_;
  std::string error_;
  Json denials_ = Json::array();
};

// What a tool does, beside what its row says.
struct Handler {
  std::string_view tool;
  Result<Query> (*ask)(const Arguments&);
  Search::TakeLine take_line;
};

constexpr Handler kHandlers[] = {
    {"Glob", GlobQuery, &Search::TakeFile},
    {"Grep", GrepQuery, &Search::TakeMatch},
};

constexpr const Handler* FindHandler(std::string_view tool) {
  for (const Handler& handler : kHandlers) {
    if (handler.tool == tool) return &handler;
  }
  return nullptr;
}

constexpr bool HandlersFitTheTable() {
  size_t searches = 0;
  for (const policy::ToolRow& row : policy::kTools) {
    if (row.kind != policy::ToolKind::kSearches) continue;
    if (FindHandler(row.name) == nullptr) return false;
    ++searches;
  }
  return searches == std::size(kHandlers);
}
static_assert(HandlersFitTheTable());

// ripgrep searches the root that it is given, whatever ignore files say of it, wherever it is, and
// through links. So the file worker judges it as it does for Read and LS; what it says of a file,
// as by the suffixes of its mount, does not bind a search. A root that is not there is an error of
// ripgrep's.
Status CheckRoot(const std::string& root, const std::string& given, const ToolContext& context) {
  if (root == ".") return OkStatus();
  const sandbox::FilePlace place{context.cell_id, sandbox::Links::kRefuse};
  const Status read = context.sandbox->ReadFile(place, root, 0, 1).status();
  if (sandbox::LeadsTo(read)) return read;
  if (read.code() == Code::kPermissionDenied &&
      context.sandbox->ListFiles(place, root).status().code() == Code::kPermissionDenied) {
    return read;
  }
  const auto kind = read.ok() ? ignore::NodeKind::kOther : ignore::NodeKind::kDirectory;
  const bool ignored =
      context.ignored != nullptr && context.ignored->Contains(context.cell_id, root, kind);
  return ignored ? IgnoredError(given) : OkStatus();
}

class SearchTool final : public Tool {
 public:
  SearchTool(const policy::ToolRow& row, const Handler& handler) : row_(row), handler_(handler) {}

  model::ToolSpec Spec() const override {
    return {row_.name, row_.description, SchemaOf(row_.arguments)};
  }

  Result<rules::ToolCall> ForRules(const std::string& arguments_json) const override {
    ODY_ASSIGN_OR_RETURN(const Query query, Parse(arguments_json));
    return rules::ToolCall{row_.name, "", {Shown(query.root)}};
  }

  Result<ToolResult> Run(const std::string& arguments_json, ToolContext& context) const override {
    ODY_ASSIGN_OR_RETURN(Query query, Parse(arguments_json));
    const std::string given =
        std::exchange(query.root, UsedPath(query.root, context.leads_to, context.workspace));
    const Status checked = CheckRoot(query.root, given, context);
    if (sandbox::LeadsTo(checked)) return checked;
    if (!checked.ok()) return Failure(checked);
    return Search(context, std::move(query)).Run(handler_.take_line);
  }

 private:
  Result<Query> Parse(const std::string& arguments_json) const {
    ODY_ASSIGN_OR_RETURN(const Arguments given, Arguments::Parse(row_.arguments, arguments_json));
    return handler_.ask(given);
  }

  const policy::ToolRow& row_;
  const Handler& handler_;
};

}  // namespace

std::unique_ptr<Tool> NewSearchTool(const policy::ToolRow& row) {
  const Handler* handler = FindHandler(row.name);
  ODY_CHECK(handler != nullptr);
  return std::make_unique<SearchTool>(row, *handler);
}

}  // namespace odyssey::tools
