#include "supervisor/cell_init/dns_query.h"

#include <cctype>

namespace odyssey::cell_init {
namespace {

constexpr size_t kHeader = 12;
constexpr size_t kTypeAndClass = 4;
constexpr size_t kMaxLabel = 63;  // a longer one would be a compression pointer
constexpr size_t kMaxName = 255;  // with the lengths of its labels
// Of the header's bytes 2 and 3.
constexpr unsigned char kIsResponse = 0x80, kOpcode = 0x78, kRecursionDesired = 0x01;
constexpr unsigned char kRecursionAvailable = 0x80, kNoSuchName = 3;

char PlainCharacter(unsigned char c) {
  const bool plain = c < 0x80 && (std::isalnum(c) != 0 || c == '-' || c == '_');
  return plain ? static_cast<char>(std::tolower(c)) : '?';
}

// The byte after the name that begins behind the header; 0 if it is malformed.
size_t ReadName(std::string_view query, std::string* name) {
  size_t at = kHeader;
  for (; at < query.size() && at - kHeader < kMaxName;) {
    const size_t length = static_cast<unsigned char>(query[at++]);
    if (length == 0) return at;
    if (length > kMaxLabel || length > query.size() - at) return 0;
    if (!name->empty()) *name += '.';
    for (const char c : query.substr(at, length)) {
      *name += PlainCharacter(static_cast<unsigned char>(c));
    }
    at += length;
  }
  return 0;
}

}  // namespace

std::optional<RefusedQuery> RefuseQuery(std::string_view query) {
  if (query.size() < kHeader || query.size() > kMaxDnsQuery) return std::nullopt;
  const auto flags = static_cast<unsigned char>(query[2]);
  const bool one_question = query[4] == 0 && query[5] == 1;
  if ((flags & (kIsResponse | kOpcode)) != 0 || !one_question) return std::nullopt;
  RefusedQuery refused;
  const size_t end = ReadName(query, &refused.name);
  if (end == 0 || query.size() - end < kTypeAndClass) return std::nullopt;

  refused.reply = query.substr(0, end + kTypeAndClass);
  refused.reply[2] = static_cast<char>(kIsResponse | (flags & kRecursionDesired));
  refused.reply[3] = static_cast<char>(kRecursionAvailable | kNoSuchName);
  refused.reply.replace(6, kHeader - 6, kHeader - 6, '\0');  // no records behind the question
  return refused;
}

}  // namespace odyssey::cell_init
