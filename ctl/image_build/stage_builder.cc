#include "ctl/image_build/stage_builder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "ctl/image_build/owner_names.h"
#include "ctl/image_build/temporary_file.h"
#include "image/dockerfile/path_pattern.h"

namespace odyssey::ctl {
namespace {

using dockerfile::Instruction;
using dockerfile::Kind;

constexpr size_t kMaxAccountFile = size_t{1} << 20;  // /etc/passwd of an image
constexpr int kMaxPorts = 1024;                      // of one range

bool EndsAsDirectory(const std::string& path) {
  return path.ends_with('/') || path == "." || path == ".." || path.ends_with("/.") ||
         path.ends_with("/..");
}

std::optional<int> PortOf(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = !text.empty() && error == std::errc() && end == text.data() + text.size();
  if (!good || value < 1 || value > 65'535) return std::nullopt;
  return value;
}

Result<mode_t> ModeOf(const std::string& text) {
  mode_t mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || mode > 07777) {
    return InvalidArgument("--chmod=" + text + ": expected three or four octal digits");
  }
  return mode & 01777;  // as no layer has set-id bits
}

}  // namespace

StageBuilder::StageBuilder(BuildStore* store, MadeImages* made, const BuildContext* context,
                           BuildScope scope, StageState state, int signals)
    : store_(store),
      made_(made),
      context_(context),
      scope_(std::move(scope)),
      state_(std::move(state)),
      signals_(signals),
      tree_(std::make_unique<ImageTree>(store, state_.image, signals)) {}

Status StageBuilder::Execute(const Instruction& instruction, const std::string* from) {
  switch (instruction.kind) {
    case Kind::kRun:
      return Run(instruction);
    case Kind::kCopy:
    case Kind::kAdd:
      return Copy(instruction, from);
    case Kind::kWorkdir:
      return WorkDirectory(instruction);
    case Kind::kArg:
      return scope_.Declare(instruction, &state_.parts);
    default:
      ODY_RETURN_IF_ERROR(Configure(instruction));
      state_.parts.AddHistory(instruction.text, ImageParts::Adds::kNothing);
      return OkStatus();
  }
}

Result<std::string> StageBuilder::Expand(const std::string& word) const {
  return scope_.Expand(word, &state_.parts);
}

// JSON lists are taken as they are, but for variables.
Result<std::vector<std::string>> StageBuilder::Words(const Instruction& instruction) const {
  std::vector<std::string> out;
  for (const std::string& word : instruction.words) {
    if (instruction.json) {
      ODY_ASSIGN_OR_RETURN(std::string expanded, scope_.ExpandContent(word, &state_.parts));
      out.push_back(std::move(expanded));
    } else {
      ODY_ASSIGN_OR_RETURN(std::string expanded, Expand(word));
      out.push_back(std::move(expanded));
    }
  }
  return out;
}

std::string StageBuilder::Directory() const {
  const std::string directory = state_.parts.WorkingDirectory();
  return directory.starts_with('/') ? directory : "/" + directory;
}

std::string StageBuilder::Absolute(const std::string& path) const {
  return path.starts_with('/') ? path : Directory() + "/" + path;
}

std::vector<std::string> StageBuilder::ShellWords(const std::string& command) const {
  std::vector<std::string> words =
      state_.parts.List("Shell").value_or(std::vector<std::string>{"/bin/sh", "-c"});
  words.push_back(command);
  return words;
}

Status StageBuilder::Run(const Instruction& instruction) {
  BuildCommand command;
  command.argv = instruction.words;
  if (!instruction.json) {
    std::string text = instruction.words.front();
    const bool script =
        instruction.heredocs.size() == 1 && text == instruction.heredocs.front().written;
    if (script) {
      text = instruction.heredocs.front().content;
    } else {
      // The shell reads them itself.
      for (const dockerfile::Heredoc& heredoc : instruction.heredocs) {
        text += "\n" + heredoc.content + heredoc.name;
      }
      if (!instruction.heredocs.empty()) text += "\n";
    }
    command.argv = ShellWords(text);
  }
  if (state_.image.empty()) {
    ODY_ASSIGN_OR_RETURN(const UniqueFd file, MakeTemporaryFile());
    image::TarWriter empty(file.get());
    ODY_RETURN_IF_ERROR(empty.Finish());
    ODY_RETURN_IF_ERROR(ImportLayer(file.get(), "FROM scratch"));
  }
  // With the variables of ENV, which are the image's and no request of a policy.
  const ImageParts::Files files = state_.parts.Encode();
  ODY_ASSIGN_OR_RETURN(state_.image, made_->Import(files.manifest, files.config, nullptr));
  command.image = state_.image;
  command.user = state_.parts.User().empty() ? "0" : state_.parts.User();
  command.directory = Directory();
  command.environment = scope_.ForCommands(state_.parts);
  if (state_.parts.Environment().count("HOME") == 0 && command.environment.count("HOME") == 0) {
    // What is installed there belongs into the image, and not into the cell's own home.
    ODY_ASSIGN_OR_RETURN(const std::string passwd, AccountFile("/etc/passwd"));
    command.environment["HOME"] = HomeOf(command.user, passwd);
  }
  command.comment = instruction.text;
  ODY_ASSIGN_OR_RETURN(const CommandResult result, store_->Run(command));
  if (result.image.empty()) {
    return FailedPrecondition(
        result.failure.empty() ? "exit code " + std::to_string(result.exit_code) : result.failure);
  }
  made_->Note(result.image);
  ODY_ASSIGN_OR_RETURN(const StoredImage image, store_->Inspect(result.image));
  ODY_RETURN_IF_ERROR(state_.parts.TakeLayers(image.manifest, image.config));
  state_.parts.AddHistory(instruction.text, ImageParts::Adds::kLayer);
  state_.image = result.image;
  tree_ = std::make_unique<ImageTree>(store_, state_.image, signals_);
  return OkStatus();
}

Status StageBuilder::ImportLayer(int file, const std::string& history) {
  ODY_ASSIGN_OR_RETURN(const image::Blob blob, BlobOf(file));
  if (state_.parts.layers().size() >= image::kMaxLayers) {
    return ResourceExhausted("an image has at most " + std::to_string(image::kMaxLayers) +
                             " layers");
  }
  state_.parts.AddLayer(blob);
  state_.parts.AddHistory(history, ImageParts::Adds::kLayer);
  const ImageParts::Files files = state_.parts.Encode();
  const NewLayer layer{blob, file};
  ODY_ASSIGN_OR_RETURN(state_.image, made_->Import(files.manifest, files.config, &layer));
  tree_ = std::make_unique<ImageTree>(store_, state_.image, signals_);
  return OkStatus();
}

Result<std::string> StageBuilder::AccountFile(const char* path) {
  Result<std::string> text = tree_->ReadContent(path, kMaxAccountFile);
  if (text.status().code() == Code::kNotFound) return std::string();
  return text;
}

Status StageBuilder::ReadRules(const Instruction& instruction, image::RepackRules* rules) {
  if (const auto flag = instruction.flags.find("chmod"); flag != instruction.flags.end()) {
    ODY_ASSIGN_OR_RETURN(const std::string text, Expand(flag->second));
    ODY_ASSIGN_OR_RETURN(const mode_t mode, ModeOf(text));
    rules->mode = mode;
  }
  const auto flag = instruction.flags.find("chown");
  if (flag == instruction.flags.end()) return OkStatus();
  ODY_ASSIGN_OR_RETURN(const std::string owner, Expand(flag->second));
  std::string passwd, group;
  if (HasOwnerNames(owner)) {
    ODY_ASSIGN_OR_RETURN(passwd, AccountFile("/etc/passwd"));
    ODY_ASSIGN_OR_RETURN(group, AccountFile("/etc/group"));
  }
  Result<std::pair<uint32_t, uint32_t>> ids = ResolveOwner(owner, passwd, group);
  if (!ids.ok()) return InvalidArgument("--chown=" + owner + ": " + ids.status().message());
  rules->owner = *ids;
  return OkStatus();
}

Status StageBuilder::AddSources(const Instruction& instruction,
                                const std::vector<std::string>& sources, ImageTree* from,
                                CopyStep* step) {
  const Archives archives = instruction.kind == Kind::kAdd ? Archives::kUnpack : Archives::kCopy;
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto heredoc = std::find_if(
        instruction.heredocs.begin(), instruction.heredocs.end(),
        [&](const dockerfile::Heredoc& h) { return h.written == instruction.words[i]; });
    if (heredoc != instruction.heredocs.end()) {
      std::string content = heredoc->content;
      if (heredoc->expand) {
        ODY_ASSIGN_OR_RETURN(content, scope_.ExpandContent(content, &state_.parts));
      }
      ODY_RETURN_IF_ERROR(step->AddHeredoc(heredoc->name, content));
    } else if (from != nullptr) {
      ODY_RETURN_IF_ERROR(step->AddFromImage(sources[i], from));
    } else {
      ODY_RETURN_IF_ERROR(step->AddFromContext(sources[i], archives));
    }
  }
  return OkStatus();
}

Status StageBuilder::Copy(const Instruction& instruction, const std::string* from) {
  ODY_ASSIGN_OR_RETURN(std::vector<std::string> words, Words(instruction));
  const std::string destination = std::move(words.back());
  words.pop_back();
  if (destination.empty()) return InvalidArgument("the destination is empty");
  image::RepackRules rules;
  ODY_RETURN_IF_ERROR(ReadRules(instruction, &rules));
  CopyStep step(store_, tree_.get(), context_, signals_);
  ODY_RETURN_IF_ERROR(
      step.SetDestination(Absolute(destination), EndsAsDirectory(destination), words.size()));
  ImageTree source(store_, from == nullptr ? "" : *from, signals_);
  ODY_RETURN_IF_ERROR(AddSources(instruction, words, from == nullptr ? nullptr : &source, &step));
  ODY_ASSIGN_OR_RETURN(const UniqueFd file, MakeTemporaryFile());
  ODY_RETURN_IF_ERROR(step.Write(std::move(rules), file.get()));
  return ImportLayer(file.get(), instruction.text);
}

Status StageBuilder::WorkDirectory(const Instruction& instruction) {
  ODY_ASSIGN_OR_RETURN(const std::string word, Expand(instruction.words.front()));
  if (word.empty()) return InvalidArgument("is empty");
  const std::string path = "/" + dockerfile::CleanPath(Absolute(word));
  state_.parts.SetText("WorkingDir", path);
  ODY_ASSIGN_OR_RETURN(const ImageTree::Found found, tree_->Resolve(path));
  if (found.header) {
    if (!S_ISDIR(found.header->type)) {
      return InvalidArgument(found.path + ": is no directory in the image");
    }
    state_.parts.AddHistory(instruction.text, ImageParts::Adds::kNothing);
    return OkStatus();
  }
  LayerPlan plan(tree_.get());
  // As a directory on the way: it has no mode of its own.
  ODY_RETURN_IF_ERROR(plan.Add(found.path.substr(1) + "/.", false));
  image::RepackRules rules;
  plan.Complete(&rules);
  ODY_ASSIGN_OR_RETURN(const UniqueFd file, MakeTemporaryFile());
  image::TarWriter out(file.get());
  for (const image::TarHeader& header : rules.above) ODY_RETURN_IF_ERROR(out.Begin(header));
  ODY_RETURN_IF_ERROR(out.Finish());
  return ImportLayer(file.get(), instruction.text);
}

Status StageBuilder::Expose(const std::string& word) {
  const size_t slash = word.find('/');
  std::string protocol = slash == std::string::npos ? "tcp" : word.substr(slash + 1);
  for (char& c : protocol) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
  const std::string ports = word.substr(0, slash);
  const size_t dash = ports.find('-');
  const std::optional<int> first = PortOf(ports.substr(0, dash));
  const std::optional<int> last =
      dash == std::string::npos ? first : PortOf(ports.substr(dash + 1));
  const bool good = first && last && *first <= *last && *last - *first < kMaxPorts &&
                    (protocol == "tcp" || protocol == "udp" || protocol == "sctp");
  if (!good) return InvalidArgument(word + ": expected PORT, PORT-PORT, and /tcp, /udp or /sctp");
  for (int port = *first; port <= *last; ++port) {
    state_.parts.AddName("ExposedPorts", std::to_string(port) + "/" + protocol);
  }
  return OkStatus();
}

Status StageBuilder::Configure(const Instruction& instruction) {
  ImageParts& parts = state_.parts;
  switch (instruction.kind) {
    case Kind::kEnv:
    case Kind::kLabel: {
      // All of one instruction see what was there before it.
      std::vector<std::pair<std::string, std::string>> pairs;
      for (const auto& [written, value] : instruction.pairs) {
        ODY_ASSIGN_OR_RETURN(std::string name, Expand(written));
        ODY_ASSIGN_OR_RETURN(std::string text, Expand(*value));
        if (name.empty() || name.find('=') != std::string::npos) {
          return InvalidArgument(written + ": is no name");
        }
        pairs.emplace_back(std::move(name), std::move(text));
      }
      for (const auto& [name, value] : pairs) {
        if (instruction.kind == Kind::kEnv) {
          parts.SetEnvironment(name, value);
        } else {
          parts.SetLabel(name, value);
        }
      }
      return OkStatus();
    }
    case Kind::kUser:
    case Kind::kStopSignal: {
      ODY_ASSIGN_OR_RETURN(const std::string word, Expand(instruction.words.front()));
      if (word.empty()) return InvalidArgument("is empty");
      parts.SetText(instruction.kind == Kind::kUser ? "User" : "StopSignal", word);
      return OkStatus();
    }
    case Kind::kExpose:
    case Kind::kVolume: {
      ODY_ASSIGN_OR_RETURN(const std::vector<std::string> words, Words(instruction));
      for (const std::string& word : words) {
        if (instruction.kind == Kind::kExpose) {
          ODY_RETURN_IF_ERROR(Expose(word));
        } else {
          parts.AddName("Volumes", "/" + dockerfile::CleanPath(Absolute(word)));
        }
      }
      return OkStatus();
    }
    case Kind::kMaintainer:
      parts.SetAuthor(instruction.words.front());
      return OkStatus();
    case Kind::kShell:
      parts.SetList("Shell", instruction.words);
      return OkStatus();
    case Kind::kCmd:
    case Kind::kEntrypoint: {
      const bool command = instruction.kind == Kind::kCmd;
      parts.SetList(command ? "Cmd" : "Entrypoint",
                    instruction.json ? instruction.words : ShellWords(instruction.words.front()));
      command_set_ = command_set_ || command;
      // What the base's program was told is nothing to this one.
      if (!command && !command_set_) parts.ForgetList("Cmd");
      return OkStatus();
    }
    default:
      return Internal("is no instruction of the configuration");
  }
}

}  // namespace odyssey::ctl
