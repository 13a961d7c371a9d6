#include "ctl/tui/styled_line.h"

#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <utility>

#include "common/base/utf8.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kMaxMarks = 2;  // on one character, as languages have them
constexpr size_t kTab = 8;
constexpr char kReplacement[] = "\xef\xbf\xbd";

struct Range {
  uint32_t first, last;
};
// Two- and three-em dashes, ligatures of whole phrases, cuneiform.
constexpr Range kOverWide[] = {{0x2E3A, 0x2E3B}, {0xFDF0, 0xFDFD}, {0x12000, 0x12543}};

bool IsOverWide(uint32_t code) {
  return std::any_of(std::begin(kOverWide), std::end(kOverWide), [code](const Range& range) {
    return range.first <= code && code <= range.last;
  });
}

// A character with its marks, or what is shown in its place.
struct Cell {
  std::string text;
  size_t width = 1;
  Tint tint = Tint::kPlain;
  bool blank = false;
};

void AppendEscape(uint32_t code, Tint tint, std::vector<Cell>* out) {
  char buffer[16];
  snprintf(buffer, sizeof(buffer), "\\u{%04x}", static_cast<unsigned>(code));
  for (const char* c = buffer; *c != '\0'; ++c) out->push_back({std::string(1, *c), 1, tint});
}

class CellMaker final {
 public:
  void Add(std::string_view text, Tint tint) {
    while (!text.empty()) {
      const Utf8First first = DecodeUtf8(text);
      const size_t length = first.kind == Utf8Kind::kCharacter ? first.length : 1;
      AddCharacter(first, text.substr(0, length), tint);
      text.remove_prefix(length);
    }
  }
  std::vector<Cell> Take() { return std::move(cells_); }

 private:
  void AddCharacter(const Utf8First& first, std::string_view bytes, Tint tint) {
    const bool control = first.code < 0x20 || (first.code >= 0x7F && first.code < 0xA0);
    if (first.code == '\t' && first.kind == Utf8Kind::kCharacter) {
      do {
        Push({" ", 1, tint, true});
      } while (column_ % kTab != 0);
      return;
    }
    if (first.kind != Utf8Kind::kCharacter || control) return Push({kReplacement, 1, tint});
    const int width = wcwidth(static_cast<wchar_t>(first.code));
    if (width == 0 && !cells_.empty() && !cells_.back().blank && marks_ < kMaxMarks) {
      ++marks_;
      cells_.back().text += bytes;
      return;
    }
    if (width <= 0 || IsOverWide(first.code)) {
      const size_t before = cells_.size();
      AppendEscape(first.code, tint, &cells_);
      column_ += cells_.size() - before;
      marks_ = kMaxMarks;
      return;
    }
    Push({std::string(bytes), static_cast<size_t>(width), tint, first.code == ' '});
  }

  void Push(Cell cell) {
    marks_ = 0;
    column_ += cell.width;
    cells_.push_back(std::move(cell));
  }

  std::vector<Cell> cells_;
  size_t marks_ = 0;  // of the last cell
  size_t column_ = 0;
};

std::vector<Cell> CellsOf(const StyledLine& line) {
  CellMaker maker;
  for (const Span& span : line) maker.Add(span.text, span.tint);
  return maker.Take();
}

StyledLine JoinCells(const std::vector<Cell>& cells, size_t begin, size_t end) {
  StyledLine out;
  for (size_t i = begin; i < end; ++i) {
    if (out.empty() || out.back().tint != cells[i].tint) out.push_back({"", cells[i].tint});
    out.back().text += cells[i].text;
  }
  return out;
}

Tint TintOf(std::string_view code) {
  constexpr std::pair<std::string_view, Tint> kCodes[] = {
      {"1", Tint::kBold},  {"2", Tint::kDim},    {"31", Tint::kBad}, {"32", Tint::kGood},
      {"33", Tint::kWarn}, {"35", Tint::kTitle}, {"36", Tint::kUser}};
  for (const auto& [known, tint] : kCodes) {
    if (known == code) return tint;
  }
  return Tint::kPlain;
}

// Where the row that begins at `begin` ends.
size_t RowEnd(const std::vector<Cell>& cells, size_t begin, size_t columns) {
  size_t width = 0, end = begin;
  while (end < cells.size() && width + cells[end].width <= columns) width += cells[end++].width;
  if (end == begin) return begin + 1;  // wider than the screen
  if (end == cells.size()) return end;
  for (size_t i = end; i > begin + (end - begin) / 2; --i) {
    if (cells[i - 1].blank) return i;
  }
  return end;
}

}  // namespace

void UseUtf8Characters() { setlocale(LC_CTYPE, "C.UTF-8"); }

StyledLine ParsePainted(std::string_view painted) {
  StyledLine out;
  Tint tint = Tint::kPlain;
  constexpr std::string_view kBegin = "\x1b[";
  while (!painted.empty()) {
    const size_t at = std::min(painted.find(kBegin), painted.size());
    if (at > 0) out.push_back({std::string(painted.substr(0, at)), tint});
    painted.remove_prefix(at);
    if (painted.empty()) break;
    painted.remove_prefix(kBegin.size());
    const size_t end = std::min(painted.find('m'), painted.size());
    tint = TintOf(painted.substr(0, end));
    painted.remove_prefix(std::min(end + 1, painted.size()));
  }
  return out;
}

std::string PlainText(const StyledLine& line) {
  std::string out;
  for (const Span& span : line) out += span.text;
  return out;
}

size_t WidthOf(std::string_view text) {
  size_t width = 0;
  for (const Cell& cell : CellsOf({{std::string(text)}})) width += cell.width;
  return width;
}

std::vector<StyledLine> Wrap(const StyledLine& line, size_t columns) {
  const std::vector<Cell> cells = CellsOf(line);
  std::vector<StyledLine> rows;
  for (size_t begin = 0; begin < cells.size();) {
    const size_t end = RowEnd(cells, begin, std::max<size_t>(columns, 2));
    rows.push_back(JoinCells(cells, begin, end));
    begin = end;
  }
  if (rows.empty()) rows.emplace_back();
  return rows;
}

StyledLine Fit(const StyledLine& line, size_t columns) {
  const std::vector<Cell> cells = CellsOf(line);
  size_t width = 0, end = 0;
  while (end < cells.size() && width + cells[end].width <= columns) width += cells[end++].width;
  if (end == cells.size()) return JoinCells(cells, 0, end);
  while (end > 0 && width + 1 > columns) width -= cells[--end].width;
  StyledLine out = JoinCells(cells, 0, end);
  if (columns > 0) out.push_back({"…", end > 0 ? cells[end - 1].tint : Tint::kPlain});
  return out;
}

std::string LastColumns(std::string_view text, size_t columns) {
  const std::vector<Cell> cells = CellsOf({{std::string(text)}});
  size_t begin = cells.size();
  for (size_t width = 0; begin > 0 && width + cells[begin - 1].width <= columns; --begin) {
    width += cells[begin - 1].width;
  }
  return PlainText(JoinCells(cells, begin, cells.size()));
}

StyledLine Fill(const StyledLine& line, size_t columns) {
  StyledLine out = Fit(line, columns);
  const Tint tint = line.empty() ? Tint::kPlain : line.back().tint;
  const size_t width = WidthOf(PlainText(out));
  if (width < columns) out.push_back({std::string(columns - width, ' '), tint});
  return out;
}

}  // namespace odyssey::ctl
