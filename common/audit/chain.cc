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

}  // namespace

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
  if (records_++ == 0) first_seq_ = line.seq;
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
  if (line.seq > after_.seq + 1) {
    Report(line_, line.seq, "before it, " + Missing(after_.seq + 1, line.seq - 1));
  } else if (line.seq == after_.seq + 1 && line.prev != after_.hash) {
    Report(line_, line.seq,
           after_.seq == 0 ? "the first record, but it names one before it"
                           : "it does not go on from the record given as known");
  }
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
