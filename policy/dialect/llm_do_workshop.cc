#include "policy/dialect/llm_do_workshop.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "policy/dialect/path_text.h"

namespace odyssey::dialect::llm_do {
namespace {

constexpr char kWorkers[] = "workers";
constexpr char kFile[] = "/workshop.yaml";
constexpr std::string_view kMerged[] = {"sandbox", "sandboxes", "toolsets"};
constexpr char kVersion[] = "version";  // of the workshop alone
// Of the workshop itself: no defaults of workers.
constexpr std::string_view kItsOwn[] = {"name", "description"};

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

// `upper` wins, but where both are maps that are to be merged, and where it says null: that counts
// as not there.
void MergeInto(const Node& lower, Depth depth, Node* upper) {
  for (size_t i = 0; i < lower.keys.size(); ++i) {
    const Key& key = lower.keys[i];
    Node* own = FindIn(upper, key.name);
    if (own == nullptr || own->kind == NodeKind::kNull) {
      Erase(upper, key.name);
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

// What `names` has as keys; neither has to be there.
void EraseAll(const Node* names, Node* map) {
  if (names == nullptr || map == nullptr || map->kind != NodeKind::kMap) return;
  for (const Key& key : names->keys) Erase(map, key.name);
}

Node Over(const Node& upper, Node lower) {
  // A path is of whom names it first, in whichever form.
  const Node* sandbox = Find(upper, "sandbox");
  EraseAll(sandbox == nullptr ? nullptr : Find(*sandbox, "paths"), FindIn(&lower, "sandboxes"));
  EraseAll(Find(upper, "sandboxes"), FindIn(FindIn(&lower, "sandbox"), "paths"));
  Node out = upper;
  MergeInto(lower, Depth::kNamed, &out);
  return out;
}

}  // namespace

std::string WorkshopOf(const std::string& file, const PolicyContext& context) {
  const std::string directory = Absolute(DirectoryOf(file), context);
  const size_t slash = directory.rfind('/');
  return directory.substr(slash + 1) == kWorkers ? DirectoryOf(directory) : directory;
}

Merged WithWorkshop(const Node& worker, const PolicyContext& context, Source* source, Policy* out) {
  const Merged alone = {worker, worker};
  const std::string directory = WorkshopOf(source->file, context);
  const std::string file = (directory == "/" ? "" : directory) + kFile;
  if (worker.kind != NodeKind::kMap || Absolute(source->file, context) == file) return alone;
  source->beside = file;
  if (context.Look(file).is_link) {
    source->Invalid(Source::kBesideLines, "",
                    "is a symbolic link that was not named: put the file itself there");
    return alone;
  }
  const Result<std::string> text = context.Read(file);
  if (!text.ok()) {
    if (text.status().code() != Code::kNotFound) {
      source->Invalid(Source::kBesideLines, "", text.status().message());
    }
    return alone;
  }
  out->also_read.push_back(file);
  std::optional<Node> workshop = ParseDocument(Format::kYaml, file, *text, source->problems);
  if (!workshop) return alone;
  MoveBeside(&*workshop);
  if (workshop->kind != NodeKind::kMap) {
    source->Syntax(workshop->line, "", "must be a map, not " + Found(*workshop));
    return alone;
  }
  Erase(&*workshop, kVersion);
  Node replaced = Over(*workshop, worker);
  for (const std::string_view name : kItsOwn) Erase(&*workshop, name);
  return {Over(worker, *std::move(workshop)), std::move(replaced)};
}

}  // namespace odyssey::dialect::llm_do
