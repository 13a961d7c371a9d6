#include "common/audit/record.h"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/base/sha256.h"

namespace odyssey::audit {
namespace {

constexpr size_t kMaxTypeName = 32;
constexpr std::string_view kSeqKey = "{\"seq\":";
constexpr std::string_view kTimeKey = ",\"time\":\"";
constexpr std::string_view kTypeKey = "\",\"type\":\"";
constexpr std::string_view kPrevKey = ",\"prev\":\"";
constexpr std::string_view kHashKey = "\",\"hash\":\"";
constexpr std::string_view kEnd = "\"}";
constexpr size_t kTimeLength = 24;
// ","hash":"<64>"}: what the hash does not cover. The quote that ends prev is covered.
constexpr size_t kTailLength = kHashKey.size() - 1 + kHashDigits + kEnd.size();

std::string Quote(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/true,
                                   nlohmann::json::error_handler_t::replace);
}

// Cut between characters, so that the cut itself does not look like broken text.
std::string Shorten(std::string_view text, size_t max) {
  if (text.size() <= max) return std::string(text);
  size_t end = max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…[+" + std::to_string(text.size() - end) + " bytes]";
}

bool IsHash(std::string_view text) {
  return text.size() == kHashDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// A number as EncodeLine writes it: no sign, no leading zero.
bool TakeNumber(std::string_view* text, uint64_t* value) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *value);
  if (error != std::errc() || (text->front() == '0' && end != text->data() + 1)) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

bool TakeText(std::string_view* text, std::string_view expected) {
  if (text->substr(0, expected.size()) != expected) return false;
  text->remove_prefix(expected.size());
  return true;
}

Status NotALine(const char* what) {
  return {Code::kDataLoss, std::string("not a record: ") + what};
}

}  // namespace

bool IsTypeName(std::string_view type) {
  return !type.empty() && type.size() <= kMaxTypeName &&
         std::all_of(type.begin(), type.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

Record::Record(std::string_view type) : type_(type) { ODY_CHECK(IsTypeName(type)); }

Record& Record::Text(std::string_view name, std::string_view value) {
  fields_ += ",\"" + std::string(name) + "\":" + Quote(Shorten(value, kMaxText));
  return *this;
}

Record& Record::Texts(std::string_view name, const std::vector<std::string>& values) {
  std::string list;
  size_t bytes = 0;
  size_t kept = 0;
  for (; kept < std::min(values.size(), kMaxTexts) && bytes < kMaxListBytes; ++kept) {
    bytes += std::min(values[kept].size(), kMaxText);
    list += (kept == 0 ? "" : ",") + Quote(Shorten(values[kept], kMaxText));
  }
  if (kept < values.size()) {
    list += "," + Quote("…[+" + std::to_string(values.size() - kept) + " words]");
  }
  fields_ += ",\"" + std::string(name) + "\":[" + list + "]";
  return *this;
}

Record& Record::Number(std::string_view name, int64_t value) {
  fields_ += ",\"" + std::string(name) + "\":" + std::to_string(value);
  return *this;
}

Record& Record::Flag(std::string_view name, bool value) {
  fields_ += ",\"" + std::string(name) + "\":" + (value ? "true" : "false");
  return *this;
}

std::string FormatTime(Time time) {
  const int64_t total = time.time_since_epoch().count();
  const time_t seconds = static_cast<time_t>(total / 1000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
           parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
           static_cast<int>(total % 1000));
  return text;
}

std::string EncodeLine(const Record& record, Time time, Position* previous) {
  std::string line(kSeqKey);
  line += std::to_string(previous->seq + 1);
  line.append(kTimeKey).append(FormatTime(time)).append(kTypeKey).append(record.type());
  line.append("\"").append(record.fields()).append(kPrevKey).append(previous->hash).append("\"");
  previous->seq += 1;
  previous->hash = Sha256Hex(line);
  line.append(kHashKey.substr(1)).append(previous->hash).append(kEnd);
  return line;
}

Result<Line> ParseLine(std::string_view line) {
  Line out;
  std::string_view rest = line;
  if (!TakeText(&rest, kSeqKey) || rest.empty() || !TakeNumber(&rest, &out.seq)) {
    return NotALine("it does not begin with a sequence number");
  }
  if (!TakeText(&rest, kTimeKey) || rest.size() < kTimeLength) return NotALine("no time");
  out.time = rest.substr(0, kTimeLength);
  rest.remove_prefix(kTimeLength);
  if (!TakeText(&rest, kTypeKey)) return NotALine("no type");
  out.type = rest.substr(0, rest.find('"'));
  if (!IsTypeName(out.type)) return NotALine("no type");
  rest.remove_prefix(out.type.size());
  const size_t tail = kPrevKey.size() + kHashDigits + 1 + kTailLength;
  if (rest.size() < 1 + tail) return NotALine("it ends early");
  rest.remove_prefix(rest.size() - tail);
  if (!TakeText(&rest, kPrevKey)) return NotALine("it ends early");
  out.prev = rest.substr(0, kHashDigits);
  rest.remove_prefix(kHashDigits);
  if (!TakeText(&rest, kHashKey)) return NotALine("it ends early");
  out.hash = rest.substr(0, kHashDigits);
  rest.remove_prefix(kHashDigits);
  if (rest != kEnd || !IsHash(out.prev) || !IsHash(out.hash)) return NotALine("it ends early");
  return out;
}

bool HashMatches(std::string_view line) {
  const std::string_view covered = line.substr(0, line.size() - kTailLength);
  return Sha256Hex(covered) == line.substr(line.size() - kEnd.size() - kHashDigits, kHashDigits);
}

std::string EncodeHead(const Position& position) {
  return "{\"seq\":" + std::to_string(position.seq) + ",\"hash\":\"" + position.hash + "\"}\n";
}

Result<Position> ParseHead(std::string_view text) {
  Position out;
  if (TakeText(&text, kSeqKey) && !text.empty() && TakeNumber(&text, &out.seq) &&
      TakeText(&text, ",\"hash\":\"") && IsHash(text.substr(0, kHashDigits)) &&
      text.substr(kHashDigits) == "\"}\n") {
    out.hash = text.substr(0, kHashDigits);
    return out;
  }
  return Status(Code::kDataLoss, "head: not {\"seq\":N,\"hash\":\"64 hex digits\"}");
}

Result<Position> ParsePosition(std::string_view text) {
  Position out;
  std::string_view rest = text;
  if (!rest.empty() && TakeNumber(&rest, &out.seq) && TakeText(&rest, ":") && IsHash(rest)) {
    out.hash = rest;
    return out;
  }
  return InvalidArgument("\"" + std::string(text.substr(0, 100)) +
                         "\": expected SEQ:HASH, as `audit verify` prints them");
}

}  // namespace odyssey::audit
