#include "supervisor/wire/review_wire.h"

#include "common/base/field_codec.h"

namespace odyssey::review {
// The fields of each message, once for both directions (common/base/field_codec.h).

void VisitFields(auto& v, Setup& m) {
  v.U32("directories", m.directories);
  v.Bool("write_host", m.write_host);
  v.Bool("write_upper", m.write_upper);
  v.Bool("fork", m.fork);
  v.Bool("image", m.image);
  v.Texts("leave_out", m.leave_out, kMaxLeftOut, kMaxPath);
}

void VisitFields(auto& v, Selection& m) {
  v.U32("directory", m.directory);
  v.Text("path", m.path, kMaxPath);
  v.Bool("marked", m.marked);
  v.List("hunks", m.hunks, kMaxHunks);
}

void VisitFields(auto& v, Request& m) {
  v.Enum("op", m.op, Op::kCompare);
  v.List("selections", m.selections, kMaxSelections);
  v.Text("expected", m.expected, kMaxText);
  v.U64("max_bytes", m.max_bytes);
  v.U32("max_changes", m.max_changes);
  v.U32("commits", m.commits);
}

void VisitFields(auto& v, Change& m) {
  v.U32("directory", m.directory);
  v.Text("path", m.path, kMaxPath);
  v.Enum("kind", m.kind, ChangeKind::kType);
  v.Text("from", m.from, kMaxPath);
  v.U32("old_mode", m.old_mode);
  v.U32("new_mode", m.new_mode);
  v.U64("old_size", m.old_size);
  v.U64("new_size", m.new_size);
  v.Bool("binary", m.binary);
  v.Text("mark", m.mark, kMaxText);
  v.Text("conflict", m.conflict, kMaxText);
}

void VisitFields(auto& v, Item& m) {
  v.Enum("kind", m.kind, ItemKind::kCommit);
  VisitFields(v, m.change);
  v.Text("text", m.text, kMaxText);
  v.U64("number", m.number);
  uint64_t time = static_cast<uint64_t>(m.time);
  v.U64("time", time);
  m.time = static_cast<int64_t>(time);
  v.U32("count", m.count);
}

void VisitFields(auto& v, End& m) {
  v.Enum("code", m.code, Code::kUnauthenticated);
  v.Text("error", m.error, kMaxText);
  v.Text("digest", m.digest, kMaxText);
  for (uint32_t* count : {&m.counts.added, &m.counts.modified, &m.counts.deleted, &m.counts.renamed,
                          &m.counts.other, &m.counts.marked, &m.counts.conflicts}) {
    v.U32("count", *count);
  }
  v.Bool("truncated", m.truncated);
  v.Bool("unfinished", m.unfinished);
  v.U32("stale", m.stale);
  v.U64("commit", m.commit);
  v.U32("done", m.done);
  v.U32("commits", m.commits);
}

namespace {

template <typename M>
std::string EncodeFrame(bool ended, const M& message) {
  Writer out;
  out.Bool(ended);
  return out.Take() + EncodeFields(message);
}

template <typename M>
Status DecodeAll(const char* name, std::string_view bytes, M* message) {
  Reader in(bytes);
  GetFields get(&in);
  VisitFields(get, *message);
  return in.Done() ? OkStatus() : InvalidArgument(std::string("decode review ") + name);
}

}  // namespace

std::string Encode(const Setup& setup) { return EncodeFields(setup); }
std::string Encode(const Request& request) { return EncodeFields(request); }
std::string Encode(const Item& item) { return EncodeFrame(false, item); }
std::string Encode(const End& end) { return EncodeFrame(true, end); }

Status Decode(std::string_view bytes, Setup* setup) { return DecodeAll("setup", bytes, setup); }

Status Decode(std::string_view bytes, Request* request) {
  return DecodeAll("request", bytes, request);
}

Status Decode(std::string_view bytes, bool* ended, Item* item, End* end) {
  Reader in(bytes);
  *ended = in.Bool();
  GetFields get(&in);
  if (*ended) {
    VisitFields(get, *end);
  } else {
    VisitFields(get, *item);
  }
  return in.Done() ? OkStatus() : InvalidArgument("decode review answer");
}

}  // namespace odyssey::review
