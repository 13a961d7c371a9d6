#include "common/audit/chain.h"

#include <utility>

namespace odyssey::audit {
namespace {

constexpr char kNoRecord[] = "not a record of this log";

// "record 7" or "records 7 to 9".
std::string Range(uint64_t first, uint64_t last) {
  if (first == last) return "record " + std::to_string(first);
  return "records " + std::to_string(first) + " to " + std::to_string(last);
}

std::string Missing(uint64_t first, uint64_t last) {
  return Range(first, last) + (first == last ? " is missing" : " are missing");
}

// The fields of RotatedRecord, which come first.
Result<Position> ParseRotated(std::string_view text) {
  constexpr std::string_view kSeq = "\"type\":\"rotated\",\"last_seq\":";
  constexpr std::string_view kHash = ",\"last_hash\":\"";
  const size_t seq = text.find(kSeq);
  const size_t hash = text.find(kHash);
  if (seq == text.npos || hash == text.npos || hash < seq + kSeq.size()) {
    return Status(Code::kDataLoss, "no last_seq and last_hash");
  }
  const size_t from = seq + kSeq.size();
  return ParsePosition(std::string(text.substr(from, hash - from)) + ":" +
                       std::string(text.substr(hash + kHash.size(), kHashDigits)));
}

}  // namespace

Record RotatedRecord(const Position& last) {
  return std::move(Record(kRotatedType)
                       .Number("last_seq", static_cast<int64_t>(last.seq))
                       .Text("last_hash", last.hash));
}

Chain::Chain(Position after, Result<Position> head)
    : after_(std::move(after)), head_(std::move(head)), last_(after_) {}

void Chain::Report(uint64_t line, uint64_t seq, std::string what) {
  if (++problem_count_ > kMaxProblems) return;
  problems_.push_back({line == 0 ? "" : file_, line, seq, std::move(what)});
}

void Chain::BeginFile(std::string_view name, uint64_t first_seq) {
  if (unfinished_ > 0) Report(line_ + 1, 0, kNoRecord);
  unfinished_ = 0;
  Settle(nullptr, "");
  file_ = name;
  file_first_ = first_seq;
  line_ = 0;
}

void Chain::Add(std::string_view text) {
  ++line_;
  const Result<Line> parsed = ParseLine(text);
  if (!parsed.ok()) {
    ++garbage_lines_;
    garbage_.Update(text);
    garbage_.Update("\n");
    return;
  }
  const Line& line = *parsed;
  Settle(&line, text);
  if (file_first_ != 0 && line.seq != file_first_) {
    Report(line_, line.seq,
           "the file's name says that it begins with record " + std::to_string(file_first_));
  }
  file_first_ = 0;
  if (records_ == 0) {
    CheckFirst(line);
  } else {
    CheckPlace(line);
  }
  if (!HashMatches(text)) Report(line_, line.seq, "changed: its hash does not match its text");
  CheckKnown(line);
  if (line.type == kMissingType) {
    Report(line_, line.seq, "the supervisor found records missing when it opened the log here");
  }
  if (line.type == kRotatedType) TakeRotated(line, text);
  ++records_;
  last_ = {line.seq, std::string(line.hash)};
}

// Lines that are no records are what a crash left if the record after them says so.
void Chain::Settle(const Line* line, std::string_view text) {
  if (garbage_lines_ == 0) return;
  const std::string vouched = "\"sha256\":\"" + garbage_.Hex() + "\"";
  if (line != nullptr && line->type == kTornType && text.find(vouched) != text.npos) {
    ++torn_;
  } else {
    const uint64_t end = line == nullptr ? line_ + 1 : line_;
    for (uint64_t at = end - garbage_lines_; at < end; ++at) Report(at, 0, kNoRecord);
  }
  garbage_lines_ = 0;
  garbage_ = Sha256();
}

void Chain::CheckFirst(const Line& line) {
  first_seq_ = line.seq;
  first_prev_ = line.prev;
  first_file_ = file_;
  first_line_ = line_;
  // Records that are missing before it: CheckRotated, when the log has been read.
  if (line.seq == after_.seq + 1 && line.prev != after_.hash) {
    Report(line_, line.seq,
           after_.seq == 0 ? "the first record, but it names one before it"
                           : "it does not go on from the record given as known");
  }
}

void Chain::TakeRotated(const Line& line, std::string_view text) {
  Result<Position> last = ParseRotated(text);
  if (!last.ok() || last->seq < rotated_.seq || last->seq >= line.seq) {
    Report(line_, line.seq, "it does not say which records were removed");
    return;
  }
  rotated_ = *std::move(last);
}

// The writer's own record alone excuses what is missing at the beginning. It does not where a known
// record was given: nothing ties the log to that one.
void Chain::CheckRotated() {
  if (records_ == 0 || first_seq_ <= after_.seq + 1) return;
  const uint64_t gone = first_seq_ - 1;
  std::string what = "before it, " + Missing(after_.seq + 1, gone);
  if (after_.seq != 0) {
    if (rotated_.seq >= gone) what += " (rotation): nothing ties it to the record given as known";
  } else if (rotated_.seq > gone) {
    return;  // the writer stopped while it removed them
  } else if (rotated_.seq == gone) {
    if (rotated_.hash == first_prev_) return;
    what = "it does not go on from the last record that rotation removed";
  } else if (rotated_.seq != 0) {
    what += "; rotation removed those up to record " + std::to_string(rotated_.seq);
  }
  file_ = first_file_;
  Report(first_line_, first_seq_, std::move(what));
}

// After a gap the chain goes on from where the line says it is, so that each fault is told once.
void Chain::CheckPlace(const Line& line) {
  const uint64_t expected = last_.seq + 1;
  if (line.seq > expected) {
    Report(line_, line.seq, "before it, " + Missing(expected, line.seq - 1));
  } else if (line.seq < expected) {
    Report(line_, line.seq, "out of place: record " + std::to_string(expected) + " belongs here");
  } else if (line.prev != last_.hash) {
    Report(line_, line.seq, "the record before it is not the one that it was written after");
  }
}

void Chain::CheckKnown(const Line& line) {
  if (after_.seq != 0 && line.seq == after_.seq && line.hash != after_.hash) {
    Report(line_, line.seq, "it is not the record given as known");
  }
  if (head_.ok() && line.seq == head_->seq && line.hash != head_->hash) {
    Report(line_, line.seq, "it is not the record that the file head names");
  }
}

void Chain::Finish() {
  Settle(nullptr, "");
  CheckRotated();
  if (last_.seq < after_.seq) {
    Report(0, after_.seq, "the log ends before the record given as known");
  }
  if (!head_.ok()) {
    Report(0, 0, head_.status().message() + ": records at the end may be missing");
  } else if (head_->seq > last_.seq) {
    Report(0, head_->seq, "at the end, " + Missing(last_.seq + 1, head_->seq));
  }
}

}  // namespace odyssey::audit
