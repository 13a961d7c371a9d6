#include "policy/egress/rest.h"

#include <algorithm>
#include <optional>

#include "policy/egress/glob.h"

namespace odyssey::egress {
namespace {

constexpr std::string_view kOverrideHeaders[] = {"x-http-method-override", "x-method-override",
                                                 "x-http-method"};
constexpr char kOverrideField[] = "_method";
constexpr char kForm[] = "x-www-form-urlencoded";

template <typename List>
bool IsOneOf(std::string_view text, const List& list) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

std::string Lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

// As frameworks read the name of a method.
std::string Upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

std::string Trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// ── query ──

bool AnyMatches(const std::vector<std::string>& patterns, const std::string& value) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return TextMatches(pattern, value); });
}

// Every value of the key matches, and there is one. Or, of a rule that denies: one value matches.
enum class Values { kAll, kOne };

bool QueryMatches(const QueryMatch& match, const std::vector<Field>& query, Values values) {
  size_t found = 0;
  size_t matching = 0;
  for (const Field& field : query) {
    if (field.name != match.name) continue;
    ++found;
    if (AnyMatches(match.any, field.value)) ++matching;
  }
  return matching > 0 && (values == Values::kOne || matching == found);
}

bool Matches(const Matcher& matcher, const Request& request, const std::string& method,
             Values values) {
  return !IsAboutOperations(matcher) && MatchesMethodAndPath(matcher, method, request.path) &&
         std::all_of(matcher.query.begin(), matcher.query.end(), [&](const QueryMatch& match) {
           return QueryMatches(match, request.query, values);
         });
}

// ── access ──

bool AccessAllows(AccessLevel access, const std::string& method) {
  static constexpr std::string_view kRead[] = {"GET", "HEAD", "OPTIONS"};
  static constexpr std::string_view kWrite[] = {"POST", "PUT", "PATCH", kWebSocketText};
  switch (access) {
    case AccessLevel::kByRules:
      return false;
    case AccessLevel::kReadOnly:
      return IsOneOf(method, kRead);
    case AccessLevel::kReadWrite:
      return IsOneOf(method, kRead) || IsOneOf(method, kWrite);
    case AccessLevel::kFull:
      return true;
  }
  return false;
}

bool Allows(const Endpoint& endpoint, const Request& request, const std::string& method) {
  if (AccessAllows(endpoint.access, method)) return true;
  return std::any_of(endpoint.allow.begin(), endpoint.allow.end(), [&](const Matcher& matcher) {
    return Matches(matcher, request, method, Values::kAll);
  });
}

// ── methods by another name ──

std::string DecodeForm(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    if (escape) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

void AddFormMethods(std::string_view form, std::vector<std::string>* methods) {
  while (!form.empty()) {
    const size_t end = std::min(form.find_first_of("&;"), form.size());
    const std::string_view pair = form.substr(0, end);
    form.remove_prefix(std::min(end + 1, form.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    if (DecodeForm(pair.substr(0, equals)) != kOverrideField) continue;
    methods->push_back(DecodeForm(pair.substr(std::min(equals + 1, pair.size()))));
  }
}

// In whichever of its headers, and whatever stands beside it there.
bool IsForm(const Request& request) {
  return std::any_of(request.headers.begin(), request.headers.end(), [](const Field& header) {
    return header.name == "content-type" && Lower(header.value).find(kForm) != std::string::npos;
  });
}

std::vector<std::string> OverridesOf(const Request& request) {
  std::vector<std::string> methods;
  for (const Field& header : request.headers) {
    if (IsOneOf(header.name, kOverrideHeaders)) methods.push_back(header.value);
  }
  for (const Field& field : request.query) {
    if (field.name == kOverrideField) methods.push_back(field.value);
  }
  if (IsForm(request)) AddFormMethods(request.body, &methods);
  for (std::string& method : methods) method = Upper(Trimmed(method));
  return methods;
}

}  // namespace

bool IsKnownMethod(const std::string& method) {
  static constexpr std::string_view kMethods[] = {"GET",   "HEAD",   "POST",   "PUT",
                                                  "PATCH", "DELETE", "OPTIONS"};
  return IsOneOf(method, kMethods);
}

HeaderValue FindHeader(const Request& request, std::string_view name) {
  HeaderValue out;
  bool found = false;
  for (const Field& header : request.headers) {
    if (header.name != name) continue;
    out.twice = found;
    if (!found) out.value = header.value;
    found = true;
  }
  return out;
}

std::string MediaTypeOf(const Request& request) {
  const HeaderValue header = FindHeader(request, "content-type");
  if (header.twice) return "";
  const std::string value = Lower(header.value);
  const size_t semicolon = value.find(';');
  const size_t charset = value.find("charset=");
  if (charset != std::string::npos) {
    if (value.find("charset=", charset + 1) != std::string::npos) return "";
    std::string name = Trimmed(value.substr(charset + 8, value.find(';', charset) - charset - 8));
    if (name.size() > 2 && name.front() == '"') name = name.substr(1, name.size() - 2);
    if (name != "utf-8" && name != "utf8") return "";
  }
  return Trimmed(value.substr(0, semicolon));
}

bool MayHideMethod(const std::vector<Pair>& pairs, const Request& request) {
  const bool limited = std::any_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return pair.endpoint->access != AccessLevel::kFull || !pair.endpoint->deny.empty();
  });
  return limited && IsForm(request);
}

bool IsAboutOperations(const Matcher& matcher) {
  return !matcher.operation_type.empty() || !matcher.operation_name.empty() ||
         !matcher.fields.empty();
}

bool MatchesMethodAndPath(const Matcher& matcher, const std::string& method,
                          const std::string& path) {
  const std::string& wanted = matcher.method;
  const bool same =
      wanted.empty() || wanted == "*" || wanted == method || (wanted == "GET" && method == "HEAD");
  return same && PathMatches(matcher.path, path);
}

Verdict JudgeMethod(const std::vector<Pair>& pairs, const Request& request,
                    const std::string& method) {
  const std::string what = Shown(method) + " " + Shown(request.path);
  bool allowed = false;
  for (const Pair& pair : pairs) {
    const auto& deny = pair.endpoint->deny;
    for (size_t i = 0; i < deny.size(); ++i) {
      if (!Matches(deny[i], request, method, Values::kOne)) continue;
      return Deny(what + " is denied by " + DenyRule(*pair.endpoint, i));
    }
    allowed = allowed || Allows(*pair.endpoint, request, method);
  }
  if (allowed) return {};
  return Deny("no rule allows " + what, {.method = method, .path = request.path});
}

Verdict JudgeRest(const std::vector<Pair>& pairs, const Request& request) {
  Verdict verdict = JudgeMethod(pairs, request, request.method);
  if (!verdict.allowed()) return verdict;
  for (const std::string& method : OverridesOf(request)) {
    verdict = JudgeMethod(pairs, request, method);
    if (verdict.allowed()) continue;
    return Deny("the request overrides its method: " + verdict.reason,
                IsKnownMethod(method) ? verdict.missing : Matcher{});
  }
  return {};
}

}  // namespace odyssey::egress
