#include "policy/egress/json.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace odyssey::egress {
namespace {

using Library = nlohmann::json;

bool HasDuplicate(const std::vector<std::string>& keys) {
  std::vector<std::string_view> sorted(keys.begin(), keys.end());
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

// Receives what the library's parser reads; false ends it. The parser throws nothing: it reports
// errors here, and keeps its own stack on the heap.
class Builder final : public nlohmann::json_sax<Library> {
 public:
  bool null() override { return Add({.kind = Json::Kind::kNull}); }
  bool boolean(bool) override { return Add({.kind = Json::Kind::kBool}); }
  bool number_integer(number_integer_t) override { return Add({.kind = Json::Kind::kNumber}); }
  bool number_unsigned(number_unsigned_t) override { return Add({.kind = Json::Kind::kNumber}); }
  bool number_float(number_float_t, const string_t&) override {
    return Add({.kind = Json::Kind::kNumber});
  }
  bool string(string_t& text) override {
    return Add({.kind = Json::Kind::kString, .text = std::move(text)});
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(Json::Kind::kObject); }
  bool key(string_t& name) override {
    open_.back().keys.push_back(std::move(name));
    return true;
  }
  bool end_object() override {
    if (HasDuplicate(open_.back().keys)) {
      status_ = AlreadyExists("a key is there twice in one object");
      return false;
    }
    return Close();
  }
  bool start_array(size_t) override { return Open(Json::Kind::kArray); }
  bool end_array() override { return Close(); }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    status_ = InvalidArgument("not JSON: byte " + std::to_string(position));
    return false;
  }

  Result<Json> Take() {
    if (!status_.ok()) return status_;
    return std::move(root_);
  }

 private:
  bool Open(Json::Kind kind) {
    if (open_.size() >= static_cast<size_t>(kMaxJsonDepth)) {
      status_ = ResourceExhausted("JSON nested deeper than 64 levels");
      return false;
    }
    open_.push_back({.kind = kind});
    return true;
  }

  bool Close() {
    Json closed = std::move(open_.back());
    open_.pop_back();
    return Add(std::move(closed));
  }

  bool Add(Json value) {
    if (++values_ > kMaxJsonValues) {
      status_ = ResourceExhausted("more than 131072 values");
      return false;
    }
    if (open_.empty()) {
      root_ = std::move(value);
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }

  Json root_;
  std::vector<Json> open_;
  size_t values_ = 0;
  Status status_;
};

// As readers fold case that take keys for equal: ASCII, and the two letters beyond it that Unicode
// folds into ASCII (U+017F to s, U+212A to k).
std::string Folded(std::string_view key) {
  std::string out;
  for (size_t i = 0; i < key.size(); ++i) {
    if (key.substr(i, 2) == "\xC5\xBF") {
      out += 's';
      ++i;
    } else if (key.substr(i, 3) == "\xE2\x84\xAA") {
      out += 'k';
      i += 2;
    } else {
      out += key[i] >= 'A' && key[i] <= 'Z' ? static_cast<char>(key[i] - 'A' + 'a') : key[i];
    }
  }
  return out;
}

}  // namespace

const Json* Json::Find(std::string_view key) const {
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &items[static_cast<size_t>(found - keys.begin())];
}

Result<Json> ParseJson(std::string_view text) {
  // The library skips a byte order mark, and takes NUL for the end.
  if (text.substr(0, 3) == "\xEF\xBB\xBF") return InvalidArgument("not JSON: a byte order mark");
  if (text.find('\0') != std::string_view::npos) return InvalidArgument("not JSON: a NUL byte");
  Builder builder;
  const bool whole = Library::sax_parse(text.begin(), text.end(), &builder);
  Result<Json> json = builder.Take();
  if (json.ok() && !whole) return InvalidArgument("not JSON");
  return json;
}

std::string LookAlike(const Json& object, const std::vector<std::string_view>& names) {
  for (const std::string& key : object.keys) {
    const std::string folded = Folded(key);
    for (const std::string_view name : names) {
      if (key != name && folded == Folded(name)) return key;
    }
  }
  return "";
}

}  // namespace odyssey::egress
