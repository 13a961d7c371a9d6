#include "policy/dialect/llm_do_workshop.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "policy/dialect/path_text.h"

namespace odyssey::dialect::llm_do {
namespace {

constexpr char kWorkers[] = "workers";
constexpr char kFile[] = "/workshop.yaml";
constexpr std::string_view kMerged[] = {"sandbox", "toolsets"};
// Of the workshop itself: no defaults of workers.
constexpr std::string_view kItsOwn[] = {"name", "description", "version"};

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}

std::string Absolute(const std::string& path, const PolicyContext& context) {
  return JoinPath(context.client_cwd.empty() ? "/" : context.client_cwd, path);
}

template <size_t N>
bool IsOneOf(const std::string& name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Node* FindIn(Node* map, std::string_view name) {
  if (map == nullptr || map->kind != NodeKind::kMap) return nullptr;
  for (size_t i = 0; i < map->keys.size(); ++i) {
    if (map->keys[i].name == name) return &map->items[i];
  }
  return nullptr;
}

void Erase(Node* map, std::string_view name) {
  for (size_t i = 0; i < map->keys.size(); ++i) {
    if (map->keys[i].name != name) continue;
    map->keys.erase(map->keys.begin() + static_cast<std::ptrdiff_t>(i));
    map->items.erase(map->items.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

void MoveBeside(Node* node) {
  node->line += Source::kBesideLines;
  for (Key& key : node->keys) key.line += Source::kBesideLines;
  for (Node& item : node->items) MoveBeside(&item);
}

enum class Depth { kAll, kNamed };

// `upper` wins, but where both are maps that are to be merged.
void MergeInto(const Node& lower, Depth depth, Node* upper) {
  for (size_t i = 0; i < lower.keys.size(); ++i) {
    const Key& key = lower.keys[i];
    Node* own = FindIn(upper, key.name);
    if (own == nullptr) {
      upper->keys.push_back(key);
      upper->items.push_back(lower.items[i]);
      continue;
    }
    const bool maps = own->kind == NodeKind::kMap && lower.items[i].kind == NodeKind::kMap;
    if (maps && (depth == Depth::kAll || IsOneOf(key.name, kMerged))) {
      MergeInto(lower.items[i], Depth::kAll, own);
    }
  }
}

// A path that the worker names in the older form is the worker's.
void DropPlural(const Node& worker, Node* workshop) {
  const Node* plural = Find(worker, "sandboxes");
  Node* paths = FindIn(FindIn(workshop, "sandbox"), "paths");
  if (plural == nullptr || paths == nullptr || paths->kind != NodeKind::kMap) return;
  for (const Key& key : plural->keys) Erase(paths, key.name);
}

}  // namespace

std::string WorkshopOf(const std::string& file, const PolicyContext& context) {
  const std::string directory = Absolute(DirectoryOf(file), context);
  const size_t slash = directory.rfind('/');
  return directory.substr(slash + 1) == kWorkers ? DirectoryOf(directory) : directory;
}

Node WithWorkshop(const Node& worker, const PolicyContext& context, Source* source, Policy* out) {
  const std::string directory = WorkshopOf(source->file, context);
  const std::string file = (directory == "/" ? "" : directory) + kFile;
  if (worker.kind != NodeKind::kMap || Absolute(source->file, context) == file) return worker;
  source->beside = file;
  const Result<std::string> text = context.Read(file);
  if (!text.ok()) {
    if (text.status().code() != Code::kNotFound) {
      source->Invalid(Source::kBesideLines, "", text.status().message());
    }
    return worker;
  }
  out->also_read.push_back(file);
  std::optional<Node> workshop = ParseDocument(Format::kYaml, file, *text, source->problems);
  if (!workshop) return worker;
  MoveBeside(&*workshop);
  if (workshop->kind != NodeKind::kMap) {
    source->Syntax(workshop->line, "",
                   "must be a map, not " + std::string(KindName(workshop->kind)));
    return worker;
  }
  for (const std::string_view name : kItsOwn) Erase(&*workshop, name);
  DropPlural(worker, &*workshop);
  Node merged = worker;
  MergeInto(*workshop, Depth::kNamed, &merged);
  return merged;
}

}  // namespace odyssey::dialect::llm_do
