#include "supervisor/wire/review_wire.h"

#include "common/base/codec.h"

namespace odyssey::review {
namespace {

// Each message lists its fields once, in Visit: Put writes them, Get reads them with their bounds.
class Put final {
 public:
  void Bool(bool& v) { out_.Bool(v); }
  void U32(uint32_t& v) { out_.U32(v); }
  void U64(uint64_t& v) { out_.U64(v); }
  void Text(std::string& v, uint32_t) { out_.String(v); }
  template <typename E>
  void Enum(E& v, E) {
    out_.U8(static_cast<uint8_t>(v));
  }
  template <typename T, typename Each>
  void List(std::vector<T>& v, uint32_t, Each each) {
    out_.U32(static_cast<uint32_t>(v.size()));
    for (T& item : v) each(item);
  }
  std::string Take() { return out_.Take(); }

 private:
  Writer out_;
};

class Get final {
 public:
  explicit Get(std::string_view bytes) : in_(bytes) {}
  void Bool(bool& v) { v = in_.Bool(); }
  void U32(uint32_t& v) { v = in_.U32(); }
  void U64(uint64_t& v) { v = in_.U64(); }
  void Text(std::string& v, uint32_t max) { v = in_.String(max); }
  template <typename E>
  void Enum(E& v, E last) {
    v = in_.Enum(last);
  }
  template <typename T, typename Each>
  void List(std::vector<T>& v, uint32_t max, Each each) {
    v.clear();
    const uint32_t count = in_.Count(max);
    for (uint32_t i = 0; i < count && !in_.failed(); ++i) each(v.emplace_back());
  }
  bool Done() const { return in_.Done(); }

 private:
  Reader in_;
};

template <typename A>
void Visit(A& a, Setup& m) {
  a.U32(m.directories);
  a.Bool(m.write_host);
  a.Bool(m.write_upper);
  a.Bool(m.fork);
}

template <typename A>
void Visit(A& a, Selection& m) {
  a.U32(m.directory);
  a.Text(m.path, kMaxPath);
  a.Bool(m.marked);
  a.List(m.hunks, kMaxHunks, [&a](uint32_t& hunk) { a.U32(hunk); });
}

template <typename A>
void Visit(A& a, Request& m) {
  a.Enum(m.op, Op::kCompare);
  a.List(m.selections, kMaxSelections, [&a](Selection& selection) { Visit(a, selection); });
  a.Text(m.expected, kMaxText);
  a.U64(m.max_bytes);
  a.U32(m.max_changes);
  a.U32(m.commits);
}

template <typename A>
void Visit(A& a, Change& m) {
  a.U32(m.directory);
  a.Text(m.path, kMaxPath);
  a.Enum(m.kind, ChangeKind::kType);
  a.Text(m.from, kMaxPath);
  a.U32(m.old_mode);
  a.U32(m.new_mode);
  a.U64(m.old_size);
  a.U64(m.new_size);
  a.Bool(m.binary);
  a.Text(m.mark, kMaxText);
  a.Text(m.conflict, kMaxText);
}

template <typename A>
void Visit(A& a, Item& m) {
  a.Enum(m.kind, ItemKind::kCommit);
  Visit(a, m.change);
  a.Text(m.text, kMaxText);
  a.U64(m.number);
  uint64_t time = static_cast<uint64_t>(m.time);
  a.U64(time);
  m.time = static_cast<int64_t>(time);
  a.U32(m.count);
}

template <typename A>
void Visit(A& a, End& m) {
  a.Enum(m.code, Code::kUnauthenticated);
  a.Text(m.error, kMaxText);
  a.Text(m.digest, kMaxText);
  for (uint32_t* count : {&m.counts.added, &m.counts.modified, &m.counts.deleted, &m.counts.renamed,
                          &m.counts.other, &m.counts.marked, &m.counts.conflicts}) {
    a.U32(*count);
  }
  a.Bool(m.truncated);
  a.Bool(m.unfinished);
  a.U32(m.stale);
  a.U64(m.commit);
  a.U32(m.done);
  a.U32(m.commits);
}

template <typename M>
std::string EncodeAll(M message) {
  Put out;
  Visit(out, message);
  return out.Take();
}

template <typename M>
Status DecodeAll(const char* name, std::string_view bytes, M* message) {
  Get in(bytes);
  Visit(in, *message);
  return in.Done() ? OkStatus() : InvalidArgument(std::string("decode review ") + name);
}

template <typename M>
std::string EncodeFrame(bool ended, M message) {
  Put out;
  out.Bool(ended);
  Visit(out, message);
  return out.Take();
}

}  // namespace

std::string Encode(const Setup& setup) { return EncodeAll(setup); }
std::string Encode(const Request& request) { return EncodeAll(request); }
std::string Encode(const Item& item) { return EncodeFrame(false, item); }
std::string Encode(const End& end) { return EncodeFrame(true, end); }

Status Decode(std::string_view bytes, Setup* setup) { return DecodeAll("setup", bytes, setup); }

Status Decode(std::string_view bytes, Request* request) {
  return DecodeAll("request", bytes, request);
}

Status Decode(std::string_view bytes, bool* ended, Item* item, End* end) {
  Get in(bytes);
  in.Bool(*ended);
  if (*ended) {
    Visit(in, *end);
  } else {
    Visit(in, *item);
  }
  return in.Done() ? OkStatus() : InvalidArgument("decode review answer");
}

}  // namespace odyssey::review
