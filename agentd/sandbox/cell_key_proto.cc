#include "agentd/sandbox/cell_key_proto.h"

#include <string>

#include "common/base/sha256.h"

namespace odyssey::sandbox {
namespace {

constexpr size_t kMaxKeyPart = 128;

bool IsKeyCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

// An agent's id is any text; a part of a cell's key is not. Two ids never become the same part.
std::string KeyPart(const std::string& text) {
  std::string out = text;
  for (char& c : out) {
    if (!IsKeyCharacter(c)) c = '_';
  }
  if (out == text && text.size() <= kMaxKeyPart) return out;
  return out.substr(0, 32) + "-" + Sha256Hex(text).substr(0, 12);
}

}  // namespace

void ToProto(const CellKey& key, supervisor::v1::CellKey* out) {
  out->set_session_id(key.session_id);
  out->set_agent_id(KeyPart(key.agent_id));
  out->set_kind(key.kind);
  out->set_component(key.component);
}

}  // namespace odyssey::sandbox
