#include "supervisor/egress/inference/usage.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace odyssey::egress::inference {
namespace {

using Library = nlohmann::json;

constexpr size_t kMaxDepth = 64;
constexpr uint64_t kBytesOfAToken = 4;

// Members of the object that has the usage. The first four are about the request.
constexpr std::pair<std::string_view, size_t> kMembers[] = {
    {"prompt_tokens", 0},           {"input_tokens", 0},
    {"promptTokenCount", 0},        {"cache_creation_input_tokens", 1},
    {"cache_read_input_tokens", 2}, {"toolUsePromptTokenCount", 3},
    {"completion_tokens", 4},       {"output_tokens", 4},
    {"candidatesTokenCount", 4},    {"thoughtsTokenCount", 5},
};
constexpr size_t kFirstOfAnswer = 4;

// Where it stands: of an answer, of the event that begins one, of the event that ends one.
constexpr std::string_view kPlaces[] = {"usage", "usageMetadata", "message.usage",
                                        "response.usage"};

}  // namespace

// Receives the events of the library's parser, and keeps no value but the numbers.
class UsageReader::Finder final : public nlohmann::json_sax<Library> {
 public:
  Finder(std::array<uint64_t, kCounts>* counts, bool* seen) : counts_(*counts), seen_(*seen) {}
  bool no_choices() const { return no_choices_; }
  bool found() const { return found_; }

  bool null() override { return Pass(); }
  bool boolean(bool) override { return Pass(); }
  bool number_integer(number_integer_t) override { return Pass(); }
  bool number_unsigned(number_unsigned_t number) override {
    Take(number);
    return Pass();
  }
  bool number_float(number_float_t, const string_t&) override { return Pass(); }
  bool string(string_t&) override { return Pass(); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(false); }
  bool key(string_t& name) override {
    levels_.back().key = std::move(name);
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override {
    const bool choices = levels_.size() == 1 && levels_[0].key == "choices";
    if (!Open(true)) return false;
    choice_ends_ = choices;
    return true;
  }
  bool end_array() override {
    if (std::exchange(choice_ends_, false)) no_choices_ = true;
    return Close();
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  struct Level {
    bool array = false;
    std::string key;  // of the member that is read
  };

  bool Pass() {
    choice_ends_ = false;
    return true;
  }
  bool Open(bool array) {
    choice_ends_ = false;
    if (levels_.size() >= kMaxDepth) return false;
    levels_.push_back({.array = array});
    return true;
  }
  bool Close() {
    levels_.pop_back();
    return true;
  }

  // Of the object around the member that is read; an array of answers is as good as one. "": an
  // array is in between.
  std::string Place() const {
    std::string out;
    const size_t first = !levels_.empty() && levels_[0].array ? 1 : 0;
    for (size_t i = first; i + 1 < levels_.size(); ++i) {
      if (levels_[i].array) return "";
      out += (out.empty() ? "" : ".") + levels_[i].key;
    }
    return out;
  }

  void Take(uint64_t number) {
    if (levels_.size() < 2 || levels_.size() > 4 || levels_.back().array) return;
    const auto* const member =
        std::find_if(std::begin(kMembers), std::end(kMembers),
                     [&](const auto& known) { return known.first == levels_.back().key; });
    if (member == std::end(kMembers)) return;
    const std::string place = Place();
    if (std::find(std::begin(kPlaces), std::end(kPlaces), place) == std::end(kPlaces)) return;
    seen_ = found_ = true;
    uint64_t& count = counts_[member->second];
    count = std::max(count, std::min(number, kMaxTokens));
  }

  std::array<uint64_t, kCounts>& counts_;
  bool& seen_;
  bool found_ = false;
  bool no_choices_ = false;
  bool choice_ends_ = false;  // an end of an array now is that of empty `choices`
  std::vector<Level> levels_;
};

Usage EstimateUsage(uint64_t bytes_in, uint64_t bytes_out) {
  return {.tokens_in = bytes_in / kBytesOfAToken + 1, .tokens_out = bytes_out / kBytesOfAToken + 1};
}

Usage Larger(const Usage& a, const Usage& b) {
  return {.tokens_in = std::max(a.tokens_in, b.tokens_in),
          .tokens_out = std::max(a.tokens_out, b.tokens_out)};
}

uint64_t CostOf(const egress_wire::RoutePrice& price, const Usage& usage) {
  constexpr double kMost = 1e18;
  const double exact = static_cast<double>(usage.tokens_in) * static_cast<double>(price.input) +
                       static_cast<double>(usage.tokens_out) * static_cast<double>(price.output);
  return static_cast<uint64_t>(std::min(std::ceil(exact / 1e6), kMost));
}

void UsageReader::Push(std::string_view bytes, std::string* out) {
  if (form_ == AnswerForm::kWhole) {
    out->append(bytes);
    too_long_ = too_long_ || held_.size() + bytes.size() > kMaxWholeBytes;
    too_long_ ? held_.clear() : (void)held_.append(bytes);
    return;
  }
  if (!hides_usage_) out->append(bytes);
  for (const char c : bytes) TakeByte(c, out);
}

// A line ends with CR, LF, or both; an empty one ends an event.
void UsageReader::TakeByte(char c, std::string* out) {
  const bool second = c == '\n' && after_cr_;
  after_cr_ = c == '\r';
  if (second && held_.empty() && !too_long_) {
    if (hides_usage_ && !hid_) out->push_back(c);
    return;
  }
  if (held_.size() == kMaxEventBytes) {
    if (hides_usage_) out->append(held_);
    held_.clear();
    too_long_ = true;
  }
  held_.push_back(c);
  if (second) return;
  if (c != '\n' && c != '\r') {
    ++line_bytes_;
  } else if (std::exchange(line_bytes_, 0) == 0) {
    EndEvent(out);
  }
}

void UsageReader::EndEvent(std::string* out) {
  std::string data;
  for (size_t at = 0; at < held_.size() && !too_long_;) {
    const size_t end = std::min(held_.find_first_of("\r\n", at), held_.size());
    std::string_view line = std::string_view(held_).substr(at, end - at);
    at = end + 1;
    if (line.substr(0, 5) != "data:") continue;
    data.append(line.substr(5)).push_back('\n');
  }
  hid_ = !too_long_ && !data.empty() && ReadJson(data) && hides_usage_;
  if (hides_usage_ && !hid_) out->append(held_);
  held_.clear();
  too_long_ = false;
}

bool UsageReader::ReadJson(std::string_view text) {
  // The library takes NUL for the end.
  if (text.find('\0') != std::string_view::npos) return false;
  Finder finder(&counts_, &seen_);
  const bool whole = Library::sax_parse(text.begin(), text.end(), &finder);
  return whole && finder.found() && finder.no_choices();
}

void UsageReader::Finish(std::string* out) {
  if (form_ == AnswerForm::kEvents) {
    if (!held_.empty()) EndEvent(out);
  } else if (!too_long_) {
    ReadJson(held_);
  }
  held_.clear();
}

std::optional<Usage> UsageReader::usage() const {
  if (!seen_) return std::nullopt;
  Usage out;
  for (size_t i = 0; i < kCounts; ++i) {
    (i < kFirstOfAnswer ? out.tokens_in : out.tokens_out) += counts_[i];
  }
  return out;
}

}  // namespace odyssey::egress::inference
