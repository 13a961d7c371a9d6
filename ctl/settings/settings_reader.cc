#include "ctl/settings/settings_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "policy/dialect/ceiling_directory.h"
#include "policy/dialect/node.h"
#include "policy/dialect/schema.h"

namespace odyssey::ctl {
namespace {

using dialect::MapReader;
using dialect::Node;
using dialect::NodeKind;
using Values = std::vector<SettingValue>;

// The part before '=' of a map's member.
std::string_view NameOf(std::string_view value) { return value.substr(0, value.find('=')); }

// The values of one daemon, file by file.
class Merge final {
 public:
  void Set(SettingValue value) {
    const Shape shape = value.setting->shape;
    std::erase_if(values_, [&](const SettingValue& other) {
      if (other.setting != value.setting || shape == Shape::kList) return false;
      return shape == Shape::kOne || NameOf(other.value) == NameOf(value.value);
    });
    values_.push_back(std::move(value));
  }
  void Clear(const Setting& setting) {
    std::erase_if(values_, [&](const auto& value) { return value.setting == &setting; });
  }
  Values Take() { return std::move(values_); }

 private:
  Values values_;
};

// One file, into what earlier ones said.
class FileReader final {
 public:
  FileReader(const dialect::Source* source, const Node* root, Merge* out)
      : source_(*source), map_(source, root, ""), out_(*out) {}

  void Read(const DaemonSettings& daemon) {
    for (const Setting& setting : daemon.settings) ReadKey(setting);
    map_.Finish();
  }

 private:
  void ReadKey(const Setting& setting) {
    const Node* const node = map_.Any(setting.key);
    if (node == nullptr) return;
    const std::string key(setting.key);
    switch (setting.shape) {
      case Shape::kOne:
        return Add(setting, *node, key, "");
      case Shape::kList:
        if (node->kind != NodeKind::kList) return Wrong(*node, key, "a list");
        if (node->items.empty()) out_.Clear(setting);
        for (size_t i = 0; i < node->items.size(); ++i) {
          Add(setting, node->items[i], key + "[" + std::to_string(i) + "]", "");
        }
        return;
      case Shape::kMap:
        if (node->kind != NodeKind::kMap) return Wrong(*node, key, "a map");
        if (node->items.empty()) out_.Clear(setting);
        for (size_t i = 0; i < node->items.size(); ++i) {
          const std::string& name = node->keys[i].name;
          Add(setting, node->items[i], key + "." + name, name + "=");
        }
    }
  }

  void Add(const Setting& setting, const Node& node, const std::string& key,
           const std::string& prefix) {
    if (node.kind != NodeKind::kString && node.kind != NodeKind::kNumber) {
      return Wrong(node, key, "a value");
    }
    const bool is_path =
        setting.option.kind == ValueKind::kFile || setting.option.kind == ValueKind::kDirectory;
    // The daemon would see less of a word with a NUL, and another name and value.
    if ((prefix + node.text).find('\0') != std::string::npos) {
      return source_.Invalid(node.line, key, "holds a NUL byte");
    }
    if (prefix.find('=') + 1 < prefix.size()) {
      return source_.Invalid(node.line, key, "a name holds no \"=\"");
    }
    Status status = CheckOptionValue(setting.option, node.text);
    if (status.ok() && is_path && node.text.front() != '/') {
      status = InvalidArgument("\"" + node.text + "\": expected an absolute path");
    }
    if (!status.ok()) return source_.Invalid(node.line, key, status.message());
    out_.Set({&setting, prefix + node.text, source_.file, node.line});
  }

  void Wrong(const Node& node, const std::string& key, const char* expected) {
    source_.Invalid(node.line, key,
                    std::string("expected ") + expected + ", found " + dialect::Found(node));
  }

  const dialect::Source& source_;
  MapReader map_;
  Merge& out_;
};

bool Has(const Values& values, std::string_view key) {
  return std::any_of(values.begin(), values.end(),
                     [&](const auto& value) { return value.setting->key == key; });
}

// A setting that would do nothing.
void CheckNeeds(const Values& values, dialect::Problems* problems) {
  for (const SettingValue& value : values) {
    const std::string_view needed = value.setting->needs;
    if (needed.empty() || Has(values, needed)) continue;
    problems->push_back({dialect::ProblemKind::kPolicy, value.file, value.line,
                         std::string(value.setting->key), "needs " + std::string(needed)});
  }
}

// Blank lines and comments alone, as the file of a new installation.
bool IsEmpty(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != '#') return false;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return true;
}

// In the order of the table.
Values InOrder(const DaemonSettings& daemon, const Values& values) {
  Values out;
  for (const Setting& setting : daemon.settings) {
    std::copy_if(values.begin(), values.end(), std::back_inserter(out),
                 [&](const auto& value) { return value.setting == &setting; });
  }
  return out;
}

}  // namespace

Result<dialect::OperatorFiles> FindSettingsFiles(const DaemonSettings& daemon,
                                                 const std::string& directory) {
  dialect::OperatorFiles out;
  const std::string path = directory + "/" + std::string(daemon.name);
  ODY_ASSIGN_OR_RETURN(auto main, dialect::ReadOperatorFile(path + ".yaml"));
  if (main) out.push_back(*std::move(main));
  ODY_ASSIGN_OR_RETURN(auto added, dialect::ReadOperatorFiles(path + ".d"));
  if (added) out.insert(out.end(), added->begin(), added->end());
  return out;
}

std::vector<SettingValue> ParseSettings(const DaemonSettings& daemon,
                                        const dialect::OperatorFiles& files,
                                        dialect::Problems* problems) {
  Merge merge;
  for (const auto& [file, text] : files) {
    if (IsEmpty(text)) continue;
    const std::optional<Node> root =
        dialect::ParseDocument(dialect::Format::kYaml, file, text, problems);
    if (!root) continue;
    const dialect::Source source{.file = file,
                                 .syntax = dialect::ProblemKind::kPolicy,
                                 .problems = problems,
                                 .meaning = dialect::ProblemKind::kPolicy};
    FileReader(&source, &*root, &merge).Read(daemon);
  }
  Values values = InOrder(daemon, merge.Take());
  CheckNeeds(values, problems);
  return values;
}

std::vector<SettingValue> WithDefaults(const DaemonSettings& daemon,
                                       std::vector<SettingValue> values) {
  for (const Setting& setting : daemon.settings) {
    if (setting.fallback.empty() || Has(values, setting.key)) continue;
    values.push_back({&setting, std::string(setting.fallback), "", 0});
  }
  return InOrder(daemon, values);
}

std::vector<std::string> ToArguments(const std::vector<SettingValue>& values,
                                     dialect::Problems* problems) {
  std::vector<std::string> out;
  for (const SettingValue& value : values) {
    const OptionSpec& option = value.setting->option;
    std::string argument = ToArgument(option, value.value);
    if (value.setting->is_user) {
      const Result<ceiling::Owner> owner = dialect::FindOwner("user", value.value);
      if (!owner.ok()) {
        problems->push_back({dialect::ProblemKind::kPolicy, value.file, value.line,
                             std::string(value.setting->key), owner.status().message()});
        continue;
      }
      argument = std::to_string(owner->uid);
    }
    out.push_back("--" + std::string(option.name));
    out.push_back(std::move(argument));
  }
  return out;
}

Result<std::vector<std::string>> ArgumentsOfState(std::string_view daemon,
                                                  const std::string& state) {
  ODY_ASSIGN_OR_RETURN(const DaemonSettings* of, FindDaemon(daemon));
  ODY_ASSIGN_OR_RETURN(const Values values, ReadSettings(*of, state));
  dialect::Problems problems;
  for (const SettingValue& value : values) {
    if (!value.setting->of_services) continue;
    problems.push_back({dialect::ProblemKind::kPolicy, value.file, value.line,
                        std::string(value.setting->key),
                        "`odyssey-ctl up` decides it by its state directory; remove it"});
  }
  std::vector<std::string> arguments = ToArguments(values, &problems);
  if (!problems.empty()) return dialect::ToStatus(problems);
  return arguments;
}

Result<std::vector<SettingValue>> ReadSettings(const DaemonSettings& daemon,
                                               const std::string& directory) {
  ODY_ASSIGN_OR_RETURN(const dialect::OperatorFiles files, FindSettingsFiles(daemon, directory));
  dialect::Problems problems;
  Values values = ParseSettings(daemon, files, &problems);
  if (!problems.empty()) return dialect::ToStatus(problems);
  return values;
}

}  // namespace odyssey::ctl
