#include "policy/dialect/node.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>

#include "policy/dialect/json5.h"
#include "policy/dialect/yaml.h"

namespace odyssey::dialect {
namespace {

void AppendString(const std::string& text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  *out += '"';
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (byte < 0x20) {
      *out += "\\u00";
      *out += kHex[byte >> 4];
      *out += kHex[byte & 15];
    } else {
      *out += c;
    }
  }
  *out += '"';
}

void AppendJson(const Node& node, std::string* out) {
  switch (node.kind) {
    case NodeKind::kNull:
      *out += "null";
      return;
    case NodeKind::kBool:
      *out += node.boolean ? "true" : "false";
      return;
    case NodeKind::kNumber: {
      const char last = node.text.back();
      *out += last == 'y' || last == 'N' ? "null" : node.text;
      return;
    }
    case NodeKind::kString:
      AppendString(node.text, out);
      return;
    case NodeKind::kList:
    case NodeKind::kMap:
      break;
  }
  const bool map = node.kind == NodeKind::kMap;
  *out += map ? '{' : '[';
  for (size_t i = 0; i < node.items.size(); ++i) {
    if (i > 0) *out += ',';
    if (map) {
      AppendString(node.keys[i].name, out);
      *out += ':';
    }
    AppendJson(node.items[i], out);
  }
  *out += map ? '}' : ']';
}

std::string_view TakeDigits(std::string_view* text) {
  size_t n = 0;
  while (n < text->size() && (*text)[n] >= '0' && (*text)[n] <= '9') ++n;
  const std::string_view digits = text->substr(0, n);
  text->remove_prefix(n);
  return digits;
}

std::optional<std::string> Hexadecimal(std::string_view digits, bool negative) {
  uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, 16);
  if (digits.empty() || error != std::errc() || stop != end) return std::nullopt;
  return (negative ? "-" : "") + std::to_string(value);
}

// The length of the UTF-8 sequence at the start of `text`, 0 if it is none.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && byte(1) < 0xa0) return 0;   // overlong
  if (first == 0xed && byte(1) >= 0xa0) return 0;  // a surrogate
  if (first == 0xf0 && byte(1) < 0x90) return 0;   // overlong
  if (first == 0xf4 && byte(1) >= 0x90) return 0;  // beyond U+10FFFF
  return length;
}

// Where the first byte is that begins no UTF-8 sequence.
std::optional<size_t> FirstNotUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8Length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::string NotUtf8(std::string_view text, size_t at) {
  const std::string_view begin = text.substr(0, 2);
  if (text.substr(0, 4) == std::string_view("\xff\xfe\0\0", 4))
    return "is UTF-32: save it as UTF-8";
  if (begin == "\xff\xfe" || begin == "\xfe\xff") return "is UTF-16: save it as UTF-8";
  char byte[8];
  std::snprintf(byte, sizeof(byte), "0x%02x", static_cast<unsigned char>(text[at]));
  return "not UTF-8 text: the byte " + std::string(byte) + "; save it as UTF-8";
}

}  // namespace

std::optional<Node> ParseDocument(Format format, const std::string& file, std::string_view text,
                                  Problems* problems, size_t most_bytes) {
  const ProblemKind kind = format == Format::kJson5 ? ProblemKind::kJson5 : ProblemKind::kYaml;
  if (text.size() > most_bytes) {
    problems->push_back(
        {kind, file, 0, "", "longer than " + std::to_string(most_bytes) + " bytes"});
    return std::nullopt;
  }
  if (const std::optional<size_t> bad = FirstNotUtf8(text)) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(*bad), '\n');
    problems->push_back({kind, file, static_cast<int>(line), "", NotUtf8(text, *bad)});
    return std::nullopt;
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    problems->push_back({kind, file, 1, "", "the file is empty"});
    return std::nullopt;
  }
  const size_t before = problems->size();
  std::optional<Node> node =
      format == Format::kJson5 ? ParseJson5(file, text, problems) : ParseYaml(file, text, problems);
  if (problems->size() > before) return std::nullopt;
  return node;
}

std::string TooManyKeys(const std::string& key) {
  return "a map has at most " + std::to_string(kMaxMapKeys) + " keys, and `" + key +
         "` is one more";
}

const Node* Find(const Node& map, std::string_view name) {
  for (size_t i = 0; i < map.keys.size(); ++i) {
    if (map.keys[i].name == name) return &map.items[i];
  }
  return nullptr;
}

std::string_view KindName(NodeKind kind) {
  switch (kind) {
    case NodeKind::kNull:
      return "null";
    case NodeKind::kBool:
      return "true or false";
    case NodeKind::kNumber:
      return "a number";
    case NodeKind::kString:
      return "a string";
    case NodeKind::kList:
      return "a list";
    case NodeKind::kMap:
      return "a map";
  }
  return "nothing";
}

std::string ToJson(const Node& node) {
  std::string out;
  AppendJson(node, &out);
  return out;
}

std::optional<std::string> CanonicalNumber(std::string_view text) {
  std::string out;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    if (text[0] == '-') out = "-";
    text.remove_prefix(1);
  }
  if (text == "Infinity" || text == "NaN") return text == "NaN" ? "NaN" : out + "Infinity";
  if (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X") {
    return Hexadecimal(text.substr(2), !out.empty());
  }

  const std::string_view whole = TakeDigits(&text);
  if (whole.size() > 1 && whole[0] == '0') return std::nullopt;  // octal to some readers
  std::string_view fraction;
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    fraction = TakeDigits(&text);
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  out += whole.empty() ? "0" : whole;
  if (!fraction.empty()) out.append(".").append(fraction);
  if (!text.empty() && (text[0] == 'e' || text[0] == 'E')) {
    out += 'e';
    text.remove_prefix(1);
    if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
      out += text[0];
      text.remove_prefix(1);
    }
    const std::string_view exponent = TakeDigits(&text);
    if (exponent.empty()) return std::nullopt;
    out += exponent;
  }
  if (!text.empty()) return std::nullopt;
  return out;
}

bool IsUtf8(std::string_view text) { return !FirstNotUtf8(text); }

}  // namespace odyssey::dialect
