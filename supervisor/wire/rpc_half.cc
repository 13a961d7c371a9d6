// What rpc says and hears. Apart from root_wire.cc, root's half, so that root links what it uses.

#include "supervisor/wire/message_fields.h"
#include "supervisor/wire/root_wire.h"

namespace odyssey::wire {
namespace {

Status GetFailure(Reader* r) {
  const Code code = r->Enum(Code::kUnauthenticated);
  std::string message = r->String(kMaxText);
  const int error = static_cast<int>(r->U32());
  return Status(code, std::move(message))
      .With({.error = error, .item = static_cast<int>(r->U32())});
}

}  // namespace

std::string EncodeReady() { return Begin(RootMessage::kReady).Take(); }

Status Decode(std::string_view bytes, Hello* m) {
  return DecodeAs(RootMessage::kHello, "Hello", bytes, [m](Reader& r) {
    m->cgroup = r.String(kMaxText);
    m->rootless = r.Bool();
    m->uid_base = r.U32();
    m->max_cells = r.U32();
    m->own_directories = r.Strings(kMaxDirectories, kMaxText);
    m->bundle_store = r.String(kMaxText);
    m->cells_directory = r.String(kMaxText);
  });
}

std::string Encode(const Launch& m) {
  Writer w = Begin(RootMessage::kLaunch);
  w.U64(m.request);
  w.String(m.plan);
  return w.Take();
}

Status Decode(std::string_view bytes, Launched* m) {
  return DecodeAs(RootMessage::kLaunched, "Launched", bytes, [m](Reader& r) {
    m->request = r.U64();
    m->status = GetFailure(&r);
    m->uid = r.U32();
  });
}

std::string Encode(const Kill& m) {
  Writer w = Begin(RootMessage::kKill);
  w.String(m.cell_id);
  w.Bool(m.purge);
  return w.Take();
}

Status Decode(std::string_view bytes, Gone* m) {
  return DecodeAs(RootMessage::kGone, "Gone", bytes, [m](Reader& r) {
    m->cell_id = r.String(plan::kMaxCellId);
    m->reason = GetFailure(&r);
  });
}

std::string Encode(const Stats& m) {
  Writer w = Begin(RootMessage::kStats);
  w.U64(m.request);
  w.String(m.cell_id);
  return w.Take();
}

Status Decode(std::string_view bytes, StatsReply* m) {
  return DecodeAs(RootMessage::kStatsReply, "StatsReply", bytes, [m](Reader& r) {
    m->request = r.U64();
    m->found = r.Bool();
    m->usage.memory_bytes = r.U64();
    m->usage.cpu_usec = r.U64();
    m->usage.processes = r.U32();
    m->usage.oom_kills = r.U64();
    m->usage.pids_refused = r.U64();
  });
}

}  // namespace odyssey::wire
