#include "agentd/model/render.h"

#include <charconv>
#include <optional>
#include <utility>

namespace odyssey::model {
namespace {

using Json = nlohmann::json;
using scenario::Filter;
using scenario::FilterKind;
using scenario::Reference;
using scenario::Template;

std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

std::string JoinLines(const std::vector<std::string_view>& lines, size_t begin, size_t end) {
  std::string out;
  for (size_t i = begin; i < end; ++i) {
    if (i > begin) out += '\n';
    out += lines[i];
  }
  return out;
}

std::string Trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// Safe as one word of a shell command.
std::string ShellQuote(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Status Unfit(const char* filter, const char* wants) {
  return FailedPrecondition(std::string("filter ") + filter + " needs " + wants);
}

Result<Json> Join(const Json& value, const std::string& separator) {
  if (!value.is_array()) return Unfit("join", "a list");
  std::string out;
  for (size_t i = 0; i < value.size(); ++i) out += (i == 0 ? "" : separator) + TextOf(value[i]);
  return Json(out);
}

Result<Json> Pluck(const Json& value, const std::string& key) {
  if (!value.is_array()) return Unfit("pluck", "a list");
  Json out = Json::array();
  for (const Json& item : value) {
    if (!item.is_object() || !item.contains(key)) return Unfit("pluck", "items with that field");
    out.push_back(item[key]);
  }
  return out;
}

Result<Json> Apply(const Filter& filter, const Json& value) {
  switch (filter.kind) {
    case FilterKind::kLines:
      return Json(SplitLines(TextOf(value)).size());
    case FilterKind::kCount:
      if (!value.is_array() && !value.is_object()) return Unfit("count", "a list or a map");
      return Json(value.size());
    case FilterKind::kTrim:
      return Json(Trim(TextOf(value)));
    case FilterKind::kHead:
    case FilterKind::kTail: {
      const std::string text = TextOf(value);
      const std::vector<std::string_view> lines = SplitLines(text);
      const size_t kept = std::min<size_t>(filter.number, lines.size());
      const size_t begin = filter.kind == FilterKind::kHead ? 0 : lines.size() - kept;
      return Json(JoinLines(lines, begin, begin + kept));
    }
    case FilterKind::kJoin:
      return Join(value, filter.text);
    case FilterKind::kPluck:
      return Pluck(value, filter.text);
    case FilterKind::kShell:
      return Json(ShellQuote(TextOf(value)));
    case FilterKind::kDefault:
      return TextOf(value).empty() ? Json(filter.text) : value;
  }
  return Internal("unknown filter");
}

std::string Shown(const Reference& reference) {
  std::string out = "${";
  for (size_t i = 0; i < reference.path.size(); ++i) out += (i == 0 ? "" : ".") + reference.path[i];
  return out + "}";
}

std::optional<Json> Find(const Reference& reference, const Scope& scope) {
  const auto it = scope.find(reference.path.front());
  if (it == scope.end()) return std::nullopt;
  const Json* value = &it->second;
  for (size_t i = 1; i < reference.path.size(); ++i) {
    const std::string& step = reference.path[i];
    if (value->is_object()) {
      const auto member = value->find(step);
      if (member == value->end()) return std::nullopt;
      value = &*member;
      continue;
    }
    size_t index = 0;
    const char* const end = step.data() + step.size();
    const auto [stop, error] = std::from_chars(step.data(), end, index);
    const bool is_index = error == std::errc() && stop == end;
    if (!value->is_array() || !is_index || index >= value->size()) return std::nullopt;
    value = &(*value)[index];
  }
  return *value;
}

Result<Json> Evaluate(const Reference& reference, const Scope& scope) {
  std::optional<Json> value = Find(reference, scope);
  const bool has_default =
      !reference.filters.empty() && reference.filters.front().kind == FilterKind::kDefault;
  if (!value && !has_default) {
    return FailedPrecondition(Shown(reference) + " has no value");
  }
  Json out = value ? *std::move(value) : Json();
  for (const Filter& filter : reference.filters) {
    Result<Json> filtered = Apply(filter, out);
    if (!filtered.ok()) {
      return FailedPrecondition(Shown(reference) + ": " + filtered.status().message());
    }
    out = *std::move(filtered);
  }
  return out;
}

}  // namespace

std::string TextOf(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Json> Render(const Template& text, const Scope& scope) {
  if (text.pieces.size() == 1) {
    if (const auto* reference = std::get_if<Reference>(&text.pieces.front())) {
      return Evaluate(*reference, scope);
    }
  }
  std::string out;
  for (const auto& piece : text.pieces) {
    if (const auto* literal = std::get_if<std::string>(&piece)) {
      out += *literal;
    } else {
      ODY_ASSIGN_OR_RETURN(const Json value, Evaluate(std::get<Reference>(piece), scope));
      out += TextOf(value);
    }
    if (out.size() > kMaxRenderedBytes) {
      return FailedPrecondition("a text is larger than " + std::to_string(kMaxRenderedBytes) +
                                " bytes");
    }
  }
  return Json(std::move(out));
}

Result<std::string> RenderText(const Template& text, const Scope& scope) {
  ODY_ASSIGN_OR_RETURN(const Json value, Render(text, scope));
  return TextOf(value);
}

}  // namespace odyssey::model
