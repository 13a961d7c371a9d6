#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_STATE_CODEC_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_STATE_CODEC_H_

// A State in the files of the store.

#include "common/base/codec.h"
#include "supervisor/cell_review/node.h"
#include "supervisor/wire/review_wire.h"

namespace odyssey::cell_review {

inline void PutState(const State& state, Writer* out) {
  out->U8(static_cast<uint8_t>(state.kind));
  out->U32(state.mode);
  out->U64(state.size);
  out->String(state.print);
}

inline State GetState(Reader* in) {
  State state;
  state.kind = in->Enum(Kind::kUnreadable);
  state.mode = in->U32();
  state.size = in->U64();
  state.print = in->String(review::kMaxPath);
  return state;
}

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_STATE_CODEC_H_
