#include "policy/dialect/attachment_policy.h"

#include "common/base/control.h"
#include "policy/dialect/path_text.h"

namespace odyssey::dialect {
namespace {

constexpr size_t kMaxSuffixes = 64;
constexpr uint64_t kMaxTotalBytes = uint64_t{1} << 40;
constexpr uint64_t kMaxAttachments = 10'000;

}  // namespace

std::string LowerCase(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::vector<std::string> ReadSuffixes(MapReader* map, std::string_view name) {
  std::vector<std::string> suffixes;
  const std::vector<Text> texts = map->Strings(name);
  if (texts.size() > kMaxSuffixes) {
    map->source().Invalid(map->line(), map->KeyOf(name), "more than 64 suffixes");
  }
  for (const Text& text : texts) {
    const bool good = text.value.size() > 1 && text.value[0] == '.' &&
                      text.value.find('/') == std::string::npos && !HasControl(text.value);
    if (!good) {
      map->source().Invalid(text.line, text.key,
                            "must be a suffix such as `.md`: `" + text.value + "`");
    }
    suffixes.push_back(LowerCase(text.value));
  }
  return suffixes;
}

AttachmentPolicy ReadAttachmentPolicy(MapReader map) {
  AttachmentPolicy out;
  if (!map.present()) return out;
  const bool both =
      Find(*map.node(), "max_count") != nullptr && Find(*map.node(), "max_attachments") != nullptr;
  if (both) {
    map.source().Invalid(map.line(), map.key(),
                         "max_count and max_attachments mean the same: give one");
  }
  for (const char* name : {"max_count", "max_attachments"}) {
    out.max_count = map.Whole(name, out.max_count, 0, kMaxAttachments,
                              std::string(name) + " must be non-negative");
  }
  out.max_total_bytes = map.Whole("max_total_bytes", out.max_total_bytes, 1, kMaxTotalBytes,
                                  "max_total_bytes must be positive");
  out.allowed_suffixes = ReadSuffixes(&map, "allowed_suffixes");
  out.denied_suffixes = ReadSuffixes(&map, "denied_suffixes");
  map.Finish();
  return out;
}

}  // namespace odyssey::dialect
