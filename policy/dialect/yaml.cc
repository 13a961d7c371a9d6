#include "policy/dialect/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>

namespace odyssey::dialect {
namespace {

// Whether the quoted scalar that begins at `begin` has an end. yaml-cpp takes the end of the file
// for one.
bool IsQuoteClosed(std::string_view text, size_t begin) {
  const char quote = text[begin];
  for (size_t i = begin + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      // '' is a quote inside a text in single quotes.
      const bool doubled = quote == '\'' && i + 1 < text.size() && text[i + 1] == quote;
      if (!doubled) return true;
      ++i;
    }
  }
  return false;
}

// Gives up on the document: thrown through yaml-cpp and caught in ParseYaml.
[[noreturn]] void Refuse(const YAML::Mark& mark, const std::string& what) {
  throw YAML::ParserException(mark, what);
}

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Where yaml-cpp's places are in the text. `text` is borrowed.
class TextPlaces final {
 public:
  explicit TextPlaces(std::string_view text) : text_(text) {
    // The mark of the byte order is in no column.
    const bool marked = text.substr(0, kByteOrderMark.size()) == kByteOrderMark;
    lines_.push_back(marked ? kByteOrderMark.size() : 0);
    for (size_t end = text.find('\n'); end != std::string_view::npos;
         end = text.find('\n', end + 1)) {
      lines_.push_back(end + 1);
    }
  }

  std::string_view text() const { return text_; }
  // The size of the text for a place that is not in it.
  size_t Of(const YAML::Mark& mark) const {
    if (mark.line < 0 || static_cast<size_t>(mark.line) >= lines_.size()) return text_.size();
    return std::min(lines_[static_cast<size_t>(mark.line)] + static_cast<size_t>(mark.column),
                    text_.size());
  }

 private:
  const std::string_view text_;
  std::vector<size_t> lines_;
};

// Builds the tree from the parser's events: unlike yaml-cpp's own tree, it sees duplicate keys.
class TreeBuilder final : public YAML::EventHandler {
 public:
  // All are borrowed.
  TreeBuilder(const std::string& file, const TextPlaces& places, Problems* problems)
      : file_(file), places_(places), problems_(problems) {}

  Node TakeRoot() { return std::move(root_); }
  bool has_root() const { return has_root_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(mark, anchor, NodeAt(mark, NodeKind::kNull), "null");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Refuse(mark, "aliases (`*name`) are not supported");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (tag != "?" && tag != "!") Refuse(mark, "tags (`" + tag + "`) are not supported");
    if (tag == "!") CheckQuotes(mark);
    // yaml-cpp 0.7 makes a single byte of the escapes \N and \_.
    if (!IsUtf8(value)) Refuse(mark, "an escape that yields no UTF-8; write the character itself");
    Node node = NodeAt(mark, NodeKind::kString);
    node.text = value;
    if (tag == "?") TypePlain(&node);
    Add(mark, anchor, std::move(node), value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, NodeKind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, NodeKind::kMap);
  }
  void OnMapEnd() override { Close(); }

 private:
  // A list or map that is still open; of a map, the key whose value comes next.
  struct Level {
    Node node;
    Key key;
    bool has_key = false;
  };

  // Of a scalar that is not plain.
  void CheckQuotes(const YAML::Mark& mark) const {
    const size_t begin = places_.Of(mark);
    const std::string_view text = places_.text();
    if (begin == text.size() || text[begin] == '!') Refuse(mark, "tags (`!`) are not supported");
    const bool quoted = text[begin] == '"' || text[begin] == '\'';
    if (quoted && !IsQuoteClosed(text, begin)) {
      Refuse(mark, "the text in quotes that begins here has no closing quote");
    }
  }

  static Node NodeAt(const YAML::Mark& mark, NodeKind kind) {
    return Node{.kind = kind, .line = mark.line + 1, .column = mark.column + 1};
  }

  static void TypePlain(Node* node) {
    const std::string& text = node->text;
    const bool yes = text == "true" || text == "True" || text == "TRUE";
    if (yes || text == "false" || text == "False" || text == "FALSE") {
      node->kind = NodeKind::kBool;
      node->boolean = yes;
      node->text.clear();
      return;
    }
    const bool word = text.find_first_of("Ny") != std::string::npos;  // NaN, Infinity: JSON5's
    if (std::optional<std::string> number = CanonicalNumber(text); number && !word) {
      node->kind = NodeKind::kNumber;
      node->text = *std::move(number);
    }
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, NodeKind kind) {
    if (anchor != YAML::NullAnchor) Refuse(mark, "anchors (`&name`) are not supported");
    if (tag != "?" && tag != "" && tag != "!") {
      Refuse(mark, "tags (`" + tag + "`) are not supported");
    }
    if (open_.size() > static_cast<size_t>(kMaxDocumentDepth)) {
      Refuse(mark, "nested deeper than " + std::to_string(kMaxDocumentDepth) + " levels");
    }
    if (ExpectsKey()) Refuse(mark, "a key must be a string");
    open_.push_back({NodeAt(mark, kind), {}, false});
  }

  void Close() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    AddValue(std::move(node));
  }

  bool ExpectsKey() const {
    return !open_.empty() && open_.back().node.kind == NodeKind::kMap && !open_.back().has_key;
  }

  void Add(const YAML::Mark& mark, YAML::anchor_t anchor, Node node, const std::string& text) {
    if (anchor != YAML::NullAnchor) Refuse(mark, "anchors (`&name`) are not supported");
    if (!ExpectsKey()) return AddValue(std::move(node));
    if (text == "<<") Refuse(mark, "merge keys (`<<`) are not supported");
    open_.back().key = {text, node.line};
    open_.back().has_key = true;
    if (open_.back().node.keys.size() >= kMaxMapKeys) Refuse(mark, TooManyKeys(text));
  }

  void AddValue(Node node) {
    if (open_.empty()) {
      root_ = std::move(node);
      has_root_ = true;
      return;
    }
    Level& level = open_.back();
    if (level.node.kind == NodeKind::kMap) {
      level.has_key = false;
      for (const Key& other : level.node.keys) {
        if (other.name != level.key.name) continue;
        problems_->push_back(
            {ProblemKind::kYaml, file_, level.key.line, "",
             "duplicate key `" + other.name + "`, first on line " + std::to_string(other.line)});
        return;
      }
      if (node.kind == NodeKind::kNull) node.line = level.key.line;  // not where the next key is
      level.node.keys.push_back(std::move(level.key));
    }
    level.node.items.push_back(std::move(node));
  }

  const std::string& file_;
  const TextPlaces& places_;
  Problems* const problems_;
  std::vector<Level> open_;
  Node root_;
  bool has_root_ = false;
};

// Ignores the events of a document.
class Nothing final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    Refuse(mark, "a second document; a file holds one");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// The line of the first control character that YAML does not allow, or 0. yaml-cpp 0.7 takes a NUL
// in a plain scalar for the start of an escape, and 0x04 for the end of the file.
int LineOfControlCharacter(std::string_view text) {
  int line = 1;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') return line;
    if (c == '\n') ++line;
  }
  return 0;
}

// The line of the first carriage return that ends a line by itself, or 0: yaml-cpp 0.7 does not
// count it.
int LineOfLoneReturn(std::string_view text) {
  int line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')) return line;
    if (text[i] == '\n') ++line;
  }
  return 0;
}

}  // namespace

std::optional<Node> ParseYaml(const std::string& file, std::string_view text, Problems* problems) {
  const auto report = [&](int line, std::string message) {
    problems->push_back({ProblemKind::kYaml, file, line, "", std::move(message)});
    return std::nullopt;
  };
  if (const int line = LineOfControlCharacter(text); line != 0) {
    return report(line, "a control character; write it as an escape in double quotes");
  }
  if (const int line = LineOfLoneReturn(text); line != 0) {
    return report(line,
                  "a carriage return without a line feed; lines end with a line feed, or both");
  }
  try {
    const TextPlaces places(text);
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder tree(file, places, problems);
    if (!parser.HandleNextDocument(tree) || !tree.has_root()) {
      return report(1, "the file holds nothing but comments");
    }
    Nothing nothing;
    parser.HandleNextDocument(nothing);
    return tree.TakeRoot();
  } catch (const YAML::Exception& error) {
    const int line = error.mark.line + 1;
    return report(line, error.msg);
  } catch (const std::exception& error) {
    return report(0, error.what());
  }
}

}  // namespace odyssey::dialect
