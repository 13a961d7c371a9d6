#include "common/diff/diff.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <unordered_map>

namespace odyssey::diff {
namespace {

using Texts = std::vector<std::string_view>;
using Numbers = std::vector<uint32_t>;

// Most edits that are looked for: the search takes their square in time and memory.
constexpr int kMaxEdits = 2000;
constexpr size_t kBinaryBytes = 8000;

Texts Lines(std::string_view text) {
  Texts lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t newline = text.find('\n', begin);
    const size_t end = newline == std::string_view::npos ? text.size() : newline + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

// Equal lines have equal numbers.
Numbers Number(const Texts& lines, std::unordered_map<std::string_view, uint32_t>* known) {
  Numbers numbers;
  for (const std::string_view line : lines) {
    numbers.push_back(known->emplace(line, static_cast<uint32_t>(known->size())).first->second);
  }
  return numbers;
}

// One stretch of both texts that is not the same.
struct Edit {
  size_t old_begin, old_end, new_begin, new_end;
};

// Myers' greedy search (1986): for each number of edits the furthest point of each diagonal.
// Nothing if there are more than kMaxEdits.
std::optional<std::vector<Edit>> ShortestEdits(const Numbers& a, const Numbers& b) {
  const int n = static_cast<int>(a.size()), m = static_cast<int>(b.size());
  const int most = std::min(n + m, kMaxEdits);
  std::vector<int> furthest(2 * static_cast<size_t>(most) + 3, 0);
  const auto at = [&](int k) -> int& { return furthest[static_cast<size_t>(k + most + 1)]; };
  std::vector<std::vector<int>> trace;
  int edits = 0;
  bool met = false;
  for (; edits <= most && !met; ++edits) {
    std::vector<int> before;
    for (int k = -edits; k <= edits; k += 2) {
      int x = k == -edits || (k != edits && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
      while (x < n && x - k < m && x - k >= 0 &&
             a[static_cast<size_t>(x)] == b[static_cast<size_t>(x - k)]) {
        ++x;
      }
      at(k) = x;
      if (x >= n && x - k >= m) met = true;
      if (met) break;
    }
    for (int k = -edits; k <= edits; ++k) before.push_back(at(k));
    trace.push_back(std::move(before));
  }
  if (!met) return std::nullopt;

  // Back from the end, one edit at a time.
  std::vector<Edit> out;
  int x = n, y = m;
  for (int d = edits - 1; d > 0; --d) {
    const std::vector<int>& before = trace[static_cast<size_t>(d - 1)];
    const auto was = [&](int k) {
      return std::abs(k) > d - 1 ? -1 : before[static_cast<size_t>(k + d - 1)];
    };
    const int k = x - y;
    const bool down = k == -d || (k != d && was(k - 1) < was(k + 1));
    const int from_k = down ? k + 1 : k - 1;
    const int from_x = was(from_k), from_y = from_x - from_k;
    const auto px = static_cast<size_t>(from_x), py = static_cast<size_t>(from_y);
    out.push_back(down ? Edit{px, px, py, py + 1} : Edit{px, px + 1, py, py});
    x = from_x;
    y = from_y;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

// Without the lines that both begin and end with; edits that touch are one.
std::vector<Edit> EditsOf(const Numbers& a, const Numbers& b) {
  size_t head = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  size_t tail = 0;
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) {
    ++tail;
  }
  const Numbers middle_a(a.begin() + static_cast<long>(head), a.end() - static_cast<long>(tail));
  const Numbers middle_b(b.begin() + static_cast<long>(head), b.end() - static_cast<long>(tail));
  if (middle_a.empty() && middle_b.empty()) return {};
  const Edit whole = {head, a.size() - tail, head, b.size() - tail};
  if (middle_a.empty() || middle_b.empty()) return {whole};
  const auto found = ShortestEdits(middle_a, middle_b);
  if (!found) return {whole};
  std::vector<Edit> edits;
  for (const Edit& edit : *found) {
    const Edit moved = {edit.old_begin + head, edit.old_end + head, edit.new_begin + head,
                        edit.new_end + head};
    if (!edits.empty() && edits.back().old_end == moved.old_begin &&
        edits.back().new_end == moved.new_begin) {
      edits.back().old_end = moved.old_end;
      edits.back().new_end = moved.new_end;
    } else {
      edits.push_back(moved);
    }
  }
  return edits;
}

void AddLines(char tag, const Texts& lines, size_t begin, size_t end, Hunk* hunk) {
  for (size_t i = begin; i < end; ++i) hunk->lines.push_back({tag, lines[i]});
  if (tag != '+') hunk->old_lines += end - begin;
  if (tag != '-') hunk->new_lines += end - begin;
}

std::string Range(size_t start, size_t lines) {
  return std::to_string(start) + (lines == 1 ? "" : "," + std::to_string(lines));
}

// As git quotes names: in C's way, if they hold something that a line cannot.
std::string Quoted(const std::string& path) {
  std::string out;
  bool special = false;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
      special = true;
    } else if (byte < 0x20 || byte >= 0x7f) {
      char text[8];
      snprintf(text, sizeof(text), "\\%03o", byte);
      out += text;
      special = true;
    } else {
      out.push_back(c);
    }
  }
  return special ? '"' + out + '"' : out;
}

std::string Octal(uint32_t mode) {
  char text[16];
  snprintf(text, sizeof(text), "%06o", mode);
  return text;
}

}  // namespace

std::vector<Hunk> Compare(std::string_view old_text, std::string_view new_text) {
  const Texts old_lines = Lines(old_text), new_lines = Lines(new_text);
  std::unordered_map<std::string_view, uint32_t> known;
  const Numbers old_numbers = Number(old_lines, &known);
  const std::vector<Edit> edits = EditsOf(old_numbers, Number(new_lines, &known));

  std::vector<Hunk> hunks;
  for (size_t i = 0; i < edits.size();) {
    Hunk hunk;
    const size_t lead = std::min(kContext, edits[i].old_begin);
    size_t old_at = edits[i].old_begin - lead;
    hunk.old_start = old_at + 1;
    hunk.new_start = edits[i].new_begin - lead + 1;
    for (; i < edits.size() && edits[i].old_begin <= old_at + 2 * kContext; ++i) {
      AddLines(' ', old_lines, old_at, edits[i].old_begin, &hunk);
      AddLines('-', old_lines, edits[i].old_begin, edits[i].old_end, &hunk);
      AddLines('+', new_lines, edits[i].new_begin, edits[i].new_end, &hunk);
      old_at = edits[i].old_end;
    }
    AddLines(' ', old_lines, old_at, std::min(old_at + kContext, old_lines.size()), &hunk);
    if (hunk.old_lines == 0) --hunk.old_start;
    if (hunk.new_lines == 0) --hunk.new_start;
    hunks.push_back(std::move(hunk));
  }
  return hunks;
}

bool IsBinary(std::string_view text) {
  return text.substr(0, kBinaryBytes).find('\0') != std::string_view::npos;
}

std::string Format(const Hunk& hunk) {
  std::string out = "@@ -" + Range(hunk.old_start, hunk.old_lines) + " +" +
                    Range(hunk.new_start, hunk.new_lines) + " @@\n";
  for (const Line& line : hunk.lines) {
    out.push_back(line.tag);
    out.append(line.text);
    if (line.text.empty() || line.text.back() != '\n') out += "\n\\ No newline at end of file\n";
  }
  return out;
}

std::string Apply(std::string_view old_text, const std::vector<Hunk>& hunks,
                  const std::set<uint32_t>& chosen) {
  const Texts lines = Lines(old_text);
  std::string out;
  size_t at = 0;  // lines of the old text that are done
  for (uint32_t number = 1; number <= hunks.size(); ++number) {
    const Hunk& hunk = hunks[number - 1];
    if (chosen.count(number) == 0) continue;
    const size_t begin = hunk.old_lines == 0 ? hunk.old_start : hunk.old_start - 1;
    for (; at < begin; ++at) out.append(lines[at]);
    for (const Line& line : hunk.lines) {
      if (line.tag != '-') out.append(line.text);
    }
    at = begin + hunk.old_lines;
  }
  for (; at < lines.size(); ++at) out.append(lines[at]);
  return out;
}

std::string FormatHeader(const File& file) {
  const std::string& old_name = file.old_path.empty() ? file.new_path : file.old_path;
  const std::string& new_name = file.new_path.empty() ? file.old_path : file.new_path;
  const std::string a = Quoted("a/" + old_name), b = Quoted("b/" + new_name);
  std::string out = "diff --git " + a + " " + b + "\n";
  const bool both = !file.old_path.empty() && !file.new_path.empty();
  if (file.old_path.empty()) out += "new file mode " + Octal(file.new_mode) + "\n";
  if (file.new_path.empty()) out += "deleted file mode " + Octal(file.old_mode) + "\n";
  if (both && file.old_mode != file.new_mode) {
    out += "old mode " + Octal(file.old_mode) + "\nnew mode " + Octal(file.new_mode) + "\n";
  }
  if (both && old_name != new_name) {
    out += "similarity index 100%\nrename from " + Quoted(old_name) + "\nrename to " +
           Quoted(new_name) + "\n";
  }
  if (file.same_content) return out;
  const std::string from = file.old_path.empty() ? "/dev/null" : a;
  const std::string to = file.new_path.empty() ? "/dev/null" : b;
  if (file.binary) return out + "Binary files " + from + " and " + to + " differ\n";
  return out + "--- " + from + "\n+++ " + to + "\n";
}

}  // namespace odyssey::diff
