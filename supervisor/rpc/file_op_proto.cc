#include "supervisor/rpc/file_op_proto.h"

#include <google/protobuf/message.h>

#include <utility>

namespace odyssey::supervisor {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// A visitor of tool_wire.h: fills the fields that the message has too.
class FromMessage final {
 public:
  explicit FromMessage(const Message& from) : from_(from), reflect_(*from.GetReflection()) {}

  void U32(const char* name, uint32_t& v) {
    if (const FieldDescriptor* field = Find(name)) v = reflect_.GetUInt32(from_, field);
  }
  void U64(const char* name, uint64_t& v) {
    if (const FieldDescriptor* field = Find(name)) v = reflect_.GetUInt64(from_, field);
  }
  void Bool(const char* name, bool& v) {
    if (const FieldDescriptor* field = Find(name)) v = reflect_.GetBool(from_, field);
  }
  void Text(const char* name, std::string& v, uint32_t max) {
    const FieldDescriptor* field = Find(name);
    if (field == nullptr) return;
    v = reflect_.GetString(from_, field);
    if (v.size() > max) Fail(name, v.size(), "bytes", max);
  }
  void Texts(const char* name, std::vector<std::string>& v, uint32_t max, uint32_t max_length) {
    const FieldDescriptor* field = Find(name);
    if (field == nullptr || !CheckCount(field, max)) return;
    for (int i = 0; i < reflect_.FieldSize(from_, field); ++i) {
      v.push_back(reflect_.GetRepeatedString(from_, field, i));
      if (v.back().size() > max_length) Fail(name, v.back().size(), "bytes", max_length);
    }
  }
  template <typename T>
  void List(const char* name, std::vector<T>& v, uint32_t max) {
    const FieldDescriptor* field = Find(name);
    if (field == nullptr || !CheckCount(field, max)) return;
    for (int i = 0; i < reflect_.FieldSize(from_, field); ++i) {
      FromMessage item(reflect_.GetRepeatedMessage(from_, field, i));
      VisitFields(item, v.emplace_back());
      if (status_.ok()) status_ = std::move(item.status_);
    }
  }

  const Status& status() const { return status_; }

 private:
  const FieldDescriptor* Find(const char* name) const {
    return from_.GetDescriptor()->FindFieldByName(name);
  }
  bool CheckCount(const FieldDescriptor* field, uint32_t max) {
    const auto count = static_cast<size_t>(reflect_.FieldSize(from_, field));
    if (count > max) Fail(field->name(), count, "entries", max);
    return count <= max;
  }
  void Fail(const std::string& name, size_t size, const char* of, uint32_t max) {
    if (!status_.ok()) return;
    status_ = InvalidArgument(name + ": " + std::to_string(size) + " " + of + "; at most " +
                              std::to_string(max) + " are allowed");
  }

  const Message& from_;
  const Reflection& reflect_;
  Status status_;
};

// A visitor of tool_wire.h: sets the fields that the message has, and takes their values.
class ToMessage final {
 public:
  explicit ToMessage(Message* to) : to_(to), reflect_(*to->GetReflection()) {}

  void U32(const char* name, uint32_t& v) {
    if (const FieldDescriptor* field = Find(name)) reflect_.SetUInt32(to_, field, v);
  }
  void U64(const char* name, uint64_t& v) {
    if (const FieldDescriptor* field = Find(name)) reflect_.SetUInt64(to_, field, v);
  }
  void Bool(const char* name, bool& v) {
    if (const FieldDescriptor* field = Find(name)) reflect_.SetBool(to_, field, v);
  }
  void Text(const char* name, std::string& v, uint32_t) {
    if (const FieldDescriptor* field = Find(name)) reflect_.SetString(to_, field, std::move(v));
  }
  void Texts(const char* name, std::vector<std::string>& v, uint32_t, uint32_t) {
    const FieldDescriptor* field = Find(name);
    if (field == nullptr) return;
    for (std::string& text : v) reflect_.AddString(to_, field, std::move(text));
  }
  template <typename T>
  void List(const char* name, std::vector<T>& v, uint32_t) {
    const FieldDescriptor* field = Find(name);
    if (field == nullptr) return;
    for (T& item : v) {
      ToMessage added(reflect_.AddMessage(to_, field));
      VisitFields(added, item);
    }
  }

 private:
  const FieldDescriptor* Find(const char* name) const {
    return to_->GetDescriptor()->FindFieldByName(name);
  }

  Message* const to_;
  const Reflection& reflect_;
};

// The field of the message's one oneof that is set; nullptr: none is.
const FieldDescriptor* ChosenField(const Message& message) {
  return message.GetReflection()->GetOneofFieldDescriptor(message,
                                                          message.GetDescriptor()->oneof_decl(0));
}

// "read, write or list".
std::string NamesOfOps() {
  std::string names;
  for (size_t i = 0; i < tool::kClientOps.size(); ++i) {
    const bool last = i + 1 == tool::kClientOps.size();
    names += i == 0 ? "" : last ? " or " : ", ";
    names += tool::kClientOps[i].name;
  }
  return names;
}

}  // namespace

Result<tool::Request> FromProto(const v1::FileOpRequest& request) {
  const FieldDescriptor* chosen = ChosenField(request);
  for (const tool::ClientOp& row : tool::kClientOps) {
    if (chosen == nullptr || chosen->name() != row.name) continue;
    tool::Request out{.op = row.op};
    out.no_links = request.no_links();
    FromMessage from(request.GetReflection()->GetMessage(request, chosen));
    VisitFields(from, out);
    ODY_RETURN_IF_ERROR(from.status());
    return out;
  }
  return InvalidArgument("op: give " + NamesOfOps());
}

void ToProto(tool::Op op, tool::Response response, v1::FileOpResponse* out) {
  const tool::ClientOp* row = tool::FindClientOp(op);
  if (row == nullptr) return;
  const FieldDescriptor* field = out->GetDescriptor()->FindFieldByName(row->name);
  ToMessage to(out->GetReflection()->MutableMessage(out, field));
  VisitFields(to, response);
}

std::vector<FileOpFigure> FiguresOf(const v1::FileOpResponse& answer) {
  std::vector<FileOpFigure> out;
  const FieldDescriptor* chosen = ChosenField(answer);
  if (chosen == nullptr) return out;
  const Message& result = answer.GetReflection()->GetMessage(answer, chosen);
  const Reflection& reflect = *result.GetReflection();
  for (int i = 0; i < result.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = result.GetDescriptor()->field(i);
    if (field->is_repeated()) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
      out.push_back({field->name(), reflect.GetBool(result, field) ? 1u : 0u, true});
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
      out.push_back({field->name(), reflect.GetUInt32(result, field)});
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
      out.push_back({field->name(), reflect.GetUInt64(result, field)});
    }
  }
  return out;
}

}  // namespace odyssey::supervisor
