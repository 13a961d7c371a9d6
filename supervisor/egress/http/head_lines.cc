#include "supervisor/egress/http/head_lines.h"

#include <utility>

namespace odyssey::egress::http {

std::optional<HeadLines> CutHead(std::string_view head) {
  HeadLines out;
  bool first = true;
  for (size_t at = 0; at < head.size();) {
    const size_t end = head.find("\r\n", at);
    if (end == std::string_view::npos || end == at) break;
    const std::string_view line = head.substr(at, end - at);
    at = end + 2;
    if (std::exchange(first, false)) {
      out.first = line;
      continue;
    }
    std::optional<Field> field = ParseField(line);
    if (!field) return std::nullopt;
    out.fields.push_back(*std::move(field));
  }
  return out;
}

std::optional<Version> ParseVersion(std::string_view text) {
  if (text == "HTTP/1.1") return Version::kHttp11;
  if (text == "HTTP/1.0") return Version::kHttp10;
  return std::nullopt;
}

}  // namespace odyssey::egress::http
