#include "policy/dialect/skill_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "policy/dialect/bundle_tree.h"
#include "policy/dialect/manifest.h"
#include "policy/dialect/schema.h"

namespace odyssey::dialect {
namespace {

namespace fs = std::filesystem;

constexpr char kFileName[] = "SKILL.md";
constexpr char kSkillsDirectory[] = "skills";
constexpr char kFence[] = "---";
constexpr size_t kMaxDescriptionBytes = 1024;

// The paths of the SKILL.md files at and below `path`, in the bundle. Follows no link.
std::vector<std::string> FilesBelow(const ProjectRoot& root, const std::string& path) {
  const std::string base = root.OpenedPath() + "/";
  std::vector<std::string> out;
  std::error_code error;
  if (fs::is_regular_file(fs::symlink_status(base + path, error))) {
    if (fs::path(path).filename() == kFileName) out.push_back(path);
    return out;
  }
  size_t entries = 0;
  fs::recursive_directory_iterator each(base + path, error);
  for (; !error && each != fs::end(each) && ++entries <= kMaxBundleEntries; each.increment(error)) {
    if (each.depth() >= kMaxBundleDepth) each.disable_recursion_pending();
    std::error_code none;
    if (each->path().filename() != kFileName || !fs::is_regular_file(each->symlink_status(none)))
      continue;
    out.push_back(fs::path(each->path().string().substr(base.size())).lexically_normal().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

// Takes the first line off.
std::string_view TakeLine(std::string_view* text) {
  const size_t end = std::min(text->find('\n'), text->size());
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return line;
}

// One line, as the model is shown it.
std::string Description(std::string_view text) {
  std::string out;
  for (const char c : Trim(text).substr(0, kMaxDescriptionBytes)) {
    out += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  }
  while (!IsUtf8(out)) out.pop_back();  // cut inside a character
  return out;
}

// Of a text without front matter, or of what follows it.
std::string FirstLine(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = Trim(TakeLine(&text));
    if (!line.empty() && line.front() != '#') return Description(line);
  }
  return "";
}

// The YAML between the fences, with as many lines before it as the file has; nothing: there is
// none.
std::optional<std::string> TakeFrontMatter(std::string_view* text, const Source& source) {
  std::string_view rest = *text;
  if (Trim(TakeLine(&rest)) != kFence) return std::nullopt;
  std::string yaml = "\n";
  while (!rest.empty()) {
    const std::string_view line = TakeLine(&rest);
    if (Trim(line) == kFence) {
      *text = rest;
      return yaml;
    }
    yaml += std::string(line) + "\n";
  }
  source.Invalid(1, "", "front matter has no end: a second line `---`");
  return std::nullopt;
}

std::string StringOf(const Node& map, const char* key, const Source& source) {
  const Node* value = Find(map, key);
  if (value == nullptr) return "";
  if (value->kind == NodeKind::kString) return value->text;
  source.Syntax(value->line, key, "must be a string, not " + std::string(KindName(value->kind)));
  return "";
}

void ReadFrontMatter(const std::string& yaml, const Source& source, SkillFile* skill) {
  const std::optional<Node> document =
      ParseDocument(Format::kYaml, source.file, yaml, source.problems);
  if (!document || document->kind == NodeKind::kNull) return;
  if (document->kind != NodeKind::kMap) {
    return source.Syntax(document->line, "", "front matter must be a map");
  }
  skill->description = Description(StringOf(*document, "description", source));
  const std::string name = StringOf(*document, "name", source);
  if (name.empty()) return;
  const Status valid = CheckComponent("skill name", name);
  if (!valid.ok()) source.Invalid(Find(*document, "name")->line, "name", valid.message());
  skill->name = name;
}

SkillFile ReadSkill(const ProjectRoot& root, const std::string& path, const std::string& name,
                    const std::string& prefix, Problems* problems) {
  SkillFile skill{"", "", path};
  const Source source{prefix + path, ProblemKind::kYaml, problems};
  const Result<std::string> content = root.Read(path);
  if (!content.ok()) source.Invalid(0, "", content.status().message());
  if (content.ok() && !IsUtf8(*content)) source.Invalid(0, "", "is not UTF-8");
  if (content.ok() && IsUtf8(*content)) {
    std::string_view text = *content;
    const std::optional<std::string> yaml = TakeFrontMatter(&text, source);
    if (yaml) ReadFrontMatter(*yaml, source, &skill);
    if (skill.description.empty()) skill.description = FirstLine(text);
  }
  if (skill.name.empty()) skill.name = name;
  return skill;
}

}  // namespace

std::vector<SkillFile> FindSkillFiles(const ProjectRoot& root, const std::vector<Skill>& declared,
                                      const std::string& prefix, Problems* problems) {
  if (declared.empty()) return {};
  std::map<std::string, std::string> names;  // by path
  for (const Skill& skill : declared) {
    const std::vector<std::string> files = FilesBelow(root, skill.path);
    if (files.empty()) {
      const Source source{prefix + skill.path, ProblemKind::kManifest, problems};
      source.Invalid(0, "", "skill `" + skill.name + "` has no SKILL.md");
    }
    for (const std::string& path : files) {
      const fs::path directory = fs::path(path).parent_path();
      const bool own = path == skill.path || directory == skill.path;
      names[path] = own ? skill.name : directory.filename().string();
    }
  }
  for (const std::string& path : FilesBelow(root, kSkillsDirectory)) {
    names.try_emplace(path, fs::path(path).parent_path().filename().string());
  }
  std::map<std::string, SkillFile> found;
  for (const auto& [path, name] : names) {
    SkillFile skill = ReadSkill(root, path, name, prefix, problems);
    const auto [other, added] = found.try_emplace(skill.name, skill);
    if (added) continue;
    const Source source{prefix + path, ProblemKind::kManifest, problems};
    source.Invalid(0, "name",
                   "skill name is used twice: `" + skill.name + "`, by " + other->second.path);
  }
  std::vector<SkillFile> out;
  for (auto& [name, skill] : found) out.push_back(std::move(skill));
  return out;
}

}  // namespace odyssey::dialect
