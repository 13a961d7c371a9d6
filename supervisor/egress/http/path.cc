#include "supervisor/egress/http/path.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/control.h"
#include "common/base/utf8.h"
#include "policy/egress/pattern.h"
#include "supervisor/egress/http/field.h"
#include "supervisor/egress/http/head_scanner.h"

namespace odyssey::egress::http {
namespace {

using Problem = std::optional<ParseError>;

constexpr std::string_view kEncodedSlash = "%2F";

ParseError Bad(std::string reason) { return {.status = 400, .reason = std::move(reason)}; }

// The byte that `%XX` at the beginning stands for.
std::optional<char> DecodeTriplet(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  const int high = HexValue(text[1]);
  const int low = HexValue(text[2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

// RFC 3986: it means the same with and without an encoding.
bool IsUnreserved(char c) {
  constexpr std::string_view kReservedOfTokens = "!#$%&'*+^`|";
  return IsTokenCharacter(c) && kReservedOfTokens.find(c) == std::string_view::npos;
}

// May stand in a path as it is.
bool IsPlainInPath(char c) {
  constexpr std::string_view kDelimiters = "!$&'()*+,=:@;";
  return IsUnreserved(c) || kDelimiters.find(c) != std::string_view::npos;
}

void AppendEncoded(char c, std::string* out) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  *out += '%';
  *out += kDigits[byte >> 4];
  *out += kDigits[byte & 15];
}

struct Segment {
  std::string text;  // decoded
  std::string wire;
};

class SegmentDecoder final {
 public:
  explicit SegmentDecoder(const PathOptions& options) : options_(options) {}

  Problem Decode(std::string_view raw, Segment* out) {
    for (size_t at = 0; at < raw.size();) {
      if (raw[at] != '%') {
        TakePlain(raw[at++], out);
        continue;
      }
      const std::optional<char> c = DecodeTriplet(raw.substr(at));
      if (!c) return Bad("a percent sign without two hexadecimal digits in the path");
      at += 3;
      if (Problem problem = TakeEncoded(*c, out)) return problem;
    }
    return CheckText(out->text);
  }

 private:
  void TakePlain(char c, Segment* out) {
    out->text += c;
    if (IsPlainInPath(c)) {
      out->wire += c;
    } else {
      AppendEncoded(c, &out->wire);
    }
  }

  Problem TakeEncoded(char c, Segment* out) {
    const bool strict = options_.spelling == Spelling::kRefuse;
    if (c == '\\') return Bad("an encoded backslash in the path");
    if (strict && c == '.') return Bad("an encoded dot in the path");
    if (strict && c == ';') return Bad("an encoded semicolon in the path");
    if (c == '/') {
      if (!options_.allow_encoded_slash) return Bad("an encoded slash in the path");
      out->text += kEncodedSlash;
      out->wire += kEncodedSlash;
      return {};
    }
    if (c == '%') percents_.push_back(out->text.size());
    out->text += c;
    if (IsUnreserved(c)) {
      out->wire += c;
    } else {
      AppendEncoded(c, &out->wire);
    }
    return {};
  }

  Problem CheckText(std::string_view text) const {
    if (HasControl(text)) return Bad("an encoded control character in the path");
    if (!IsValidUtf8(text)) return Bad("the decoded path is not UTF-8");
    // A server that decodes twice would read another path, and `%2F` would have two meanings.
    const bool twice = std::any_of(percents_.begin(), percents_.end(), [&](size_t at) {
      return DecodeTriplet(text.substr(at)).has_value();
    });
    if (twice) return Bad("the path is encoded twice");
    return {};
  }

  const PathOptions& options_;
  std::vector<size_t> percents_;  // where the text has a `%` that was encoded
};

bool IsDots(std::string_view text) { return text == "." || text == ".."; }

// A server that decodes slashes would find a dot segment or an empty one.
bool HidesSegment(std::string_view text) {
  if (text.find(kEncodedSlash) == std::string_view::npos) return false;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(kEncodedSlash, at), text.size());
    const std::string_view piece = text.substr(at, end - at);
    if (piece.empty() || IsDots(piece)) return true;
    at = end + kEncodedSlash.size();
  }
  return false;
}

class PathWalk final {
 public:
  explicit PathWalk(const PathOptions& options) : options_(options) {}

  // `raw` is what stands between two slashes, or behind the last one.
  Problem Step(std::string_view raw, bool last) {
    const bool strict = options_.spelling == Spelling::kRefuse;
    const size_t params = raw.find(';');
    if (strict && params != std::string_view::npos) return Bad("a semicolon in the path");
    Segment segment;
    if (Problem problem = SegmentDecoder(options_).Decode(raw.substr(0, params), &segment)) {
      return problem;
    }
    if (HidesSegment(segment.text)) return Bad("an encoded slash beside a dot segment or another");
    ends_in_slash_ = segment.text.empty() || IsDots(segment.text);
    if (strict && (IsDots(segment.text) || (segment.text.empty() && !last))) {
      return Bad("a dot segment or an empty segment in the path");
    }
    if (segment.text == "..") {
      if (segments_.empty()) return Bad("the path leads above the root");
      segments_.pop_back();
    } else if (!ends_in_slash_) {
      segments_.push_back(std::move(segment));
    }
    return {};
  }

  void Finish(CanonicalPath* out) const {
    for (const Segment& segment : segments_) {
      out->path.append("/").append(segment.text);
      out->wire.append("/").append(segment.wire);
    }
    if (!ends_in_slash_) return;
    out->path += '/';
    out->wire += '/';
  }

 private:
  const PathOptions& options_;
  std::vector<Segment> segments_;
  bool ends_in_slash_ = false;
};

Problem TakePath(std::string_view path, const PathOptions& options, CanonicalPath* out) {
  if (path.size() > kMaxPathBytes) return ParseError{414, "the path is longer than 4 KiB"};
  const bool plain = std::all_of(path.begin(), path.end(), [](char c) {
    return IsVisible(c) && c != '#' && c != '\\' && c != '?';
  });
  if (path != "*" && (path.empty() || path[0] != '/' || !plain)) return Bad("the path is none");
  if (path == "*" || options.spelling == Spelling::kAsWritten) {
    out->path = out->wire = path;
    return {};
  }
  PathWalk walk(options);
  for (size_t at = 1; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    if (Problem problem = walk.Step(path.substr(at, end - at), end == path.size())) return problem;
    at = end + 1;
  }
  walk.Finish(out);
  if (out->wire.size() > kMaxPathBytes) return ParseError{414, "the path is longer than 4 KiB"};
  return {};
}

Problem DecodeQueryText(std::string_view raw, std::string* out) {
  for (size_t at = 0; at < raw.size();) {
    if (raw[at] != '%') {
      *out += raw[at] == '+' ? ' ' : raw[at];
      ++at;
      continue;
    }
    const std::optional<char> c = DecodeTriplet(raw.substr(at));
    if (!c) return Bad("a percent sign without two hexadecimal digits in the query");
    if (*c == '\0') return Bad("an encoded NUL in the query");
    *out += *c;
    at += 3;
  }
  return {};
}

Problem TakeQuery(std::string_view query, const PathOptions& options, CanonicalPath* out) {
  const bool plain = std::all_of(query.begin(), query.end(),
                                 [](char c) { return IsVisible(c) && c != '#' && c != '\\'; });
  if (!plain) return Bad("the query is none");
  out->query = query;
  if (options.spelling == Spelling::kAsWritten) return {};
  // For some servers it separates pairs.
  if (query.find(';') != std::string_view::npos) return Bad("a semicolon in the query");
  for (size_t at = 0; at <= query.size();) {
    const size_t end = std::min(query.find('&', at), query.size());
    const std::string_view raw = query.substr(at, end - at);
    at = end + 1;
    if (raw.empty()) continue;
    const size_t equals = std::min(raw.find('='), raw.size());
    QueryPair& pair = out->pairs.emplace_back();
    if (Problem problem = DecodeQueryText(raw.substr(0, equals), &pair.name)) return problem;
    if (equals == raw.size()) continue;
    if (Problem problem = DecodeQueryText(raw.substr(equals + 1), &pair.value)) return problem;
  }
  return {};
}

}  // namespace

std::variant<CanonicalPath, ParseError> CanonicalizePath(std::string_view path,
                                                         std::string_view query,
                                                         const PathOptions& options) {
  CanonicalPath out;
  if (const Problem problem = TakePath(path, options, &out)) return *problem;
  if (const Problem problem = TakeQuery(query, options, &out)) return *problem;
  // Encoding made it longer than what was received.
  if (out.wire.size() + 1 + out.query.size() > kMaxTargetBytes) {
    return ParseError{414, "the target is longer than 8 KiB"};
  }
  return out;
}

}  // namespace odyssey::egress::http
