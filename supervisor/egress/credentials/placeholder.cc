#include "supervisor/egress/credentials/placeholder.h"

#include <algorithm>

#include "supervisor/egress/credentials/digest.h"

namespace odyssey::egress::credentials {
namespace {

constexpr size_t kMaxPrefix = 12;
constexpr size_t kMaxWord = 6;          // of a prefix: "github" of "github_pat_"
constexpr size_t kMinAfterPrefix = 16;  // a text of fewer may be a password of words
constexpr long kMinRandom = 8;
constexpr std::string_view kAwsPrefixes[] = {"AKIA", "ASIA"};
constexpr size_t kAwsIdBytes = 20;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

char ClassOf(char c) {
  if (IsLower(c)) return 'a';
  if (IsUpper(c)) return 'A';
  return IsDigit(c) ? '0' : c;
}

bool IsRandom(char class_of) { return class_of == 'a' || class_of == 'A' || class_of == '0'; }

// Short words of lower-case letters, each before `_` or `-`. A UUID or a number has none.
size_t PrefixSize(std::string_view secret) {
  for (const std::string_view known : kAwsPrefixes) {
    if (secret.size() == kAwsIdBytes && secret.substr(0, known.size()) == known) {
      return known.size();
    }
  }
  size_t end = 0, word = 0;
  for (size_t i = 0; i < std::min(kMaxPrefix, secret.size()); ++i) {
    if (IsLower(secret[i])) {
      if (++word > kMaxWord) break;
      continue;
    }
    if (word == 0 || (secret[i] != '_' && secret[i] != '-')) break;
    end = i + 1;
    word = 0;
  }
  return secret.size() - end >= kMinAfterPrefix ? end : 0;
}

// A stream of bytes that only the key tells.
class KeyedBytes final {
 public:
  KeyedBytes(std::string_view key, std::string label) : key_(key), label_(std::move(label)) {}

  // Below `bound`, each as likely as the others.
  size_t Below(size_t bound) {
    for (;;) {
      if (at_ == block_.size()) NextBlock();
      const size_t byte = static_cast<unsigned char>(block_[at_++]);
      if (byte < 256 / bound * bound) return byte % bound;
    }
  }

 private:
  void NextBlock() {
    block_ = HmacSha256(key_, label_ + std::to_string(++count_));
    at_ = 0;
  }

  const std::string key_, label_;
  std::string block_;
  size_t at_ = 0;
  uint64_t count_ = 0;
};

}  // namespace

Result<Shape> ShapeOf(std::string_view secret) {
  const bool one_line =
      std::all_of(secret.begin(), secret.end(), [](char c) { return c >= 0x20 && c < 0x7f; }) &&
      !secret.empty() && secret.front() != ' ' && secret.back() != ' ';
  if (!one_line) {
    return InvalidArgument(
        "a secret is one line of visible ASCII characters, with spaces only within");
  }
  const size_t prefix = PrefixSize(secret);
  Shape out{.prefix = std::string(secret.substr(0, prefix)),
            .classes = std::string(secret.substr(prefix))};
  std::transform(out.classes.begin(), out.classes.end(), out.classes.begin(), ClassOf);
  if (std::count_if(out.classes.begin(), out.classes.end(), IsRandom) < kMinRandom) {
    return InvalidArgument("a secret has at least 8 letters or digits");
  }
  return out;
}

std::string MakePlaceholder(std::string_view cell_key, std::string_view provider,
                            std::string_view key, const Shape& shape) {
  std::string label(provider);
  label.append(1, '\0').append(key).append(1, '\0');
  KeyedBytes random(cell_key, std::move(label));
  std::string out = shape.prefix;
  for (const char c : shape.classes) {
    if (!IsRandom(c)) {
      out += c;
    } else if (c == '0') {
      out += static_cast<char>('0' + random.Below(10));
    } else {
      out += static_cast<char>(c + random.Below(26));
    }
  }
  return out;
}

}  // namespace odyssey::egress::credentials
