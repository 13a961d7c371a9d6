#include "agentd/tool/path_glob.h"

#include <fnmatch.h>

namespace odyssey::tools {
namespace {

constexpr size_t kMaxBytes = 1024;
constexpr size_t kMaxAlternatives = 64;
constexpr char kAnyComponents[] = "**";

Status Malformed(const std::string& text, const std::string& cause) {
  return InvalidArgument("pattern \"" + text + "\": " + cause);
}

// The index behind a bracket expression that begins at `at`; npos: it has no end.
size_t SkipBracket(std::string_view text, size_t at) {
  size_t i = at + 1;
  if (i < text.size() && (text[i] == '!' || text[i] == '^')) ++i;
  if (i < text.size() && text[i] == ']') ++i;  // stands for itself there
  while (i < text.size() && text[i] != ']' && text[i] != '/') ++i;
  return i < text.size() && text[i] == ']' ? i + 1 : std::string_view::npos;
}

// The index behind the character, escape or bracket expression at `at`; npos: it is malformed.
size_t SkipOne(std::string_view text, size_t at) {
  if (text[at] == '\\') return at + 1 < text.size() ? at + 2 : std::string_view::npos;
  return text[at] == '[' ? SkipBracket(text, at) : at + 1;
}

struct Braces {
  size_t open = std::string::npos;
  size_t close = std::string::npos;
  std::vector<std::string> parts;
};

// The first pair of braces, with nested ones as text of its parts.
Result<Braces> FindBraces(const std::string& text) {
  Braces found;
  int depth = 0;
  size_t part = 0;
  for (size_t i = 0, next = 0; i < text.size(); i = next) {
    next = SkipOne(text, i);
    if (next == std::string::npos)
      return Malformed(text, "unbalanced \"" + text.substr(i, 1) + "\"");
    const char c = text[i];
    if (found.close != std::string::npos) continue;
    if (c == '{' && depth++ == 0) {
      found.open = i;
      part = next;
    }
    if (depth == 1 && (c == ',' || c == '}')) {
      found.parts.push_back(text.substr(part, i - part));
      part = next;
    }
    if (c == '}') {
      if (depth == 0) return Malformed(text, "unbalanced \"}\"");
      if (--depth == 0) found.close = i;
    }
  }
  if (depth != 0) return Malformed(text, "unbalanced \"{\"");
  return found;
}

Status Expand(const std::string& text, std::vector<std::string>* out) {
  ODY_ASSIGN_OR_RETURN(const Braces braces, FindBraces(text));
  if (braces.open == std::string::npos) {
    if (out->size() == kMaxAlternatives) {
      return Malformed(text, "at most " + std::to_string(kMaxAlternatives) + " alternatives");
    }
    out->push_back(text);
    return OkStatus();
  }
  for (const std::string& part : braces.parts) {
    ODY_RETURN_IF_ERROR(
        Expand(text.substr(0, braces.open) + part + text.substr(braces.close + 1), out));
  }
  return OkStatus();
}

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t slash = std::min(text.find('/', begin), text.size());
    const std::string_view component = text.substr(begin, slash - begin);
    const bool repeated = component == kAnyComponents && !out.empty() && out.back() == component;
    if (!component.empty() && component != "." && !repeated) out.emplace_back(component);
    begin = slash + 1;
  }
  return out;
}

// Whether `path` matches `pattern`. reached[i]: the components of the path so far match the first i
// of the pattern.
bool MatchAll(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  const size_t size = pattern.size();
  std::vector<bool> reached(size + 1, false);
  reached[0] = true;
  const auto skip_stars = [&](std::vector<bool>* set) {
    for (size_t i = 0; i < size; ++i) {
      if ((*set)[i] && pattern[i] == kAnyComponents) (*set)[i + 1] = true;
    }
  };
  skip_stars(&reached);
  for (const std::string& component : path) {
    std::vector<bool> next(size + 1, false);
    for (size_t i = 0; i < size; ++i) {
      if (!reached[i]) continue;
      if (pattern[i] == kAnyComponents) {
        next[i] = true;
      } else if (fnmatch(pattern[i].c_str(), component.c_str(), 0) == 0) {
        next[i + 1] = true;
      }
    }
    skip_stars(&next);
    reached = std::move(next);
  }
  return reached[size];
}

}  // namespace

Result<PathGlob> PathGlob::Parse(const std::string& text) {
  if (text.empty()) return InvalidArgument("pattern cannot be empty");
  if (text.size() > kMaxBytes) {
    return InvalidArgument("pattern has " + std::to_string(text.size()) + " bytes; at most " +
                           std::to_string(kMaxBytes));
  }
  std::vector<std::string> expanded;
  ODY_RETURN_IF_ERROR(Expand(text, &expanded));
  PathGlob out;
  for (const std::string& alternative : expanded) {
    Components components = Split(alternative);
    if (alternative.find('/') == std::string::npos) components.insert(components.begin(), "**");
    out.alternatives_.push_back(std::move(components));
  }
  return out;
}

bool PathGlob::Matches(std::string_view path) const {
  const Components components = Split(path);
  for (const Components& alternative : alternatives_) {
    if (MatchAll(alternative, components)) return true;
  }
  return false;
}

}  // namespace odyssey::tools
