#include "http/head/request_target.h"

#include <algorithm>
#include <utility>

#include "common/base/utf8.h"

namespace odyssey::head {
namespace {

enum class Plus { kPlus, kSpace };

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> Decode(std::string_view text, Plus plus) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == Plus::kSpace) {
      out += ' ';
      continue;
    }
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexValue(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexValue(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return InvalidArgument("request target: a % without two hexadecimal digits");
    }
    out += static_cast<char>(high << 4 | low);
    i += 2;
  }
  const bool control = std::any_of(out.begin(), out.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  });
  if (control || SanitizeUtf8(out) != out) {
    return InvalidArgument("request target: must be UTF-8 without control characters");
  }
  return out;
}

Status AddSegments(std::string_view path, RequestTarget* out) {
  if (path.empty()) return OkStatus();
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    ODY_ASSIGN_OR_RETURN(std::string segment, Decode(path.substr(at, end - at), Plus::kPlus));
    if (segment.empty() || segment == "." || segment == ".." ||
        segment.find('/') != std::string::npos) {
      return InvalidArgument("request target: a part of the path is empty, a dot, or has a slash");
    }
    out->segments.push_back(std::move(segment));
    at = end + 1;
  }
  return OkStatus();
}

Status AddQuery(std::string_view query, RequestTarget* out) {
  for (size_t at = 0; at < query.size();) {
    const size_t end = std::min(query.find('&', at), query.size());
    const std::string_view pair = query.substr(at, end - at);
    at = end + 1;
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    ODY_ASSIGN_OR_RETURN(std::string name, Decode(pair.substr(0, equals), Plus::kSpace));
    ODY_ASSIGN_OR_RETURN(std::string value,
                         Decode(pair.substr(std::min(equals + 1, pair.size())), Plus::kSpace));
    if (!out->query.emplace(name, std::move(value)).second) {
      return InvalidArgument("query " + name + ": comes twice");
    }
  }
  return OkStatus();
}

}  // namespace

Result<RequestTarget> ParseTarget(std::string_view target) {
  if (target.size() > kMaxTargetBytes) {
    return InvalidArgument("request target: at most " + std::to_string(kMaxTargetBytes) + " bytes");
  }
  if (target.empty() || target.front() != '/') {
    return InvalidArgument("request target: must be a path that begins with /");
  }
  const size_t question = std::min(target.find('?'), target.size());
  RequestTarget out;
  ODY_RETURN_IF_ERROR(AddSegments(target.substr(1, question - 1), &out));
  ODY_RETURN_IF_ERROR(AddQuery(target.substr(std::min(question + 1, target.size())), &out));
  return out;
}

}  // namespace odyssey::head
