#include "supervisor/egress/credentials/replacer.h"

#include <algorithm>
#include <utility>

#include "supervisor/egress/credentials/secret.h"

namespace odyssey::egress::credentials {
namespace {

constexpr size_t kTelling = 16;  // of a text whose end did not come

std::vector<uint32_t> BordersOf(std::string_view text) {
  std::vector<uint32_t> borders(text.size(), 0);
  uint32_t border = 0;
  for (size_t i = 1; i < text.size(); ++i) {
    while (border > 0 && text[i] != text[border]) border = borders[border - 1];
    if (text[i] == text[border]) ++border;
    borders[i] = border;
  }
  return borders;
}

// Where `what` is, from `at` on.
size_t Find(std::string_view bytes, size_t at, std::string_view what) {
  const void* const found = memmem(bytes.data() + at, bytes.size() - at, what.data(), what.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - bytes.data());
}

}  // namespace

Replacer::Replacer(std::vector<Replacement> all) {
  for (Replacement& replacement : all) {
    if (replacement.from.empty()) continue;
    replacement.to.resize(replacement.from.size(), '*');
    std::vector<uint32_t> borders = BordersOf(replacement.from);
    all_.push_back({std::move(replacement), std::move(borders)});
  }
  // Of two that begin alike the longer one is found.
  std::stable_sort(all_.begin(), all_.end(), [](const Text& a, const Text& b) {
    return a.replacement.from.size() > b.replacement.from.size();
  });
}

Replacer::~Replacer() {
  for (Text& text : all_) Wipe(&text.replacement.from);
  Wipe(&held_);
}

std::string Replacer::Feed(std::string_view bytes) {
  held_ += bytes;
  size_t at = 0;
  std::string out = ReplaceIn(held_, &at, &found_);
  const std::string_view rest = std::string_view(held_).substr(at);
  size_t hold = 0;
  for (const Text& text : all_) hold = std::max(hold, BeginningAtEnd(text, rest));
  out += rest.substr(0, rest.size() - hold);
  held_.erase(0, held_.size() - hold);
  return out;
}

std::string Replacer::End() {
  std::string rest = std::exchange(held_, {});
  if (rest.size() < kTelling) return rest;
  for (const Text& text : all_) {
    const Replacement& cut = text.replacement;
    if (cut.from.compare(0, rest.size(), rest) == 0) return cut.to.substr(0, rest.size());
  }
  return rest;
}

std::string Replacer::Whole(std::string_view text) const {
  size_t at = 0;
  bool found = false;
  std::string out = ReplaceIn(text, &at, &found);
  return out += text.substr(at);
}

std::string Replacer::ReplaceIn(std::string_view bytes, size_t* at, bool* found) const {
  std::string out;
  std::vector<size_t> next(all_.size(), 0);
  for (size_t i = 0; i < all_.size(); ++i) next[i] = Find(bytes, 0, all_[i].replacement.from);
  for (;;) {
    const auto first = std::min_element(next.begin(), next.end());
    if (first == next.end() || *first == std::string_view::npos) return out;
    const Replacement& text = all_[static_cast<size_t>(first - next.begin())].replacement;
    out.append(bytes.substr(*at, *first - *at)).append(text.to);
    *at = *first + text.from.size();
    *found = true;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (next[i] < *at) next[i] = Find(bytes, *at, all_[i].replacement.from);
    }
  }
}

// How many of the last bytes begin the text, and are not all of it.
size_t Replacer::BeginningAtEnd(const Text& text, std::string_view bytes) {
  const std::string& what = text.replacement.from;
  const size_t from = bytes.size() - std::min(bytes.size(), what.size() - 1);
  size_t matched = 0;
  for (const char c : bytes.substr(from)) {
    while (matched > 0 && c != what[matched]) matched = text.borders[matched - 1];
    if (c == what[matched]) ++matched;
  }
  return matched;
}

}  // namespace odyssey::egress::credentials
