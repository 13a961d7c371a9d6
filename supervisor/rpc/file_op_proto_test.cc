#include "supervisor/rpc/file_op_proto.h"

#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <set>

namespace odyssey::supervisor {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// The fields that the wire lists, by the type that the API gives them.
class Listed final {
 public:
  void U32(const char* name, uint32_t&) { Add(name, "uint32"); }
  void U64(const char* name, uint64_t&) { Add(name, "uint64"); }
  void Bool(const char* name, bool&) { Add(name, "bool"); }
  void Text(const char* name, std::string&, uint32_t) { Add(name, "text"); }
  void Texts(const char* name, std::vector<std::string>&, uint32_t, uint32_t) {
    Add(name, "repeated text");
  }
  template <typename T>
  void List(const char* name, std::vector<T>&, uint32_t) {
    Add(name, "repeated message");
    T item;
    Listed of_item;
    VisitFields(of_item, item);
    for (const std::string& field : of_item.fields) fields.insert(std::string(name) + "." + field);
  }
  std::set<std::string> fields;

 private:
  void Add(const std::string& name, const std::string& type) { fields.insert(name + " " + type); }
};

void CheckFields(const Descriptor& message, const std::string& prefix,
                 const std::set<std::string>& listed) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    const bool text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    const std::string name = prefix + field.name();
    const std::string type = (field.is_repeated() ? "repeated " : "") +
                             std::string(text ? "text" : field.cpp_type_name());
    EXPECT_EQ(listed.count(name + " " + type), 1u)
        << message.name() << ": the wire has no field " << name << " of type " << type;
    if (field.message_type() != nullptr) CheckFields(*field.message_type(), name + ".", listed);
  }
}

template <typename Message>
std::set<std::string> ListedOf() {
  Message message;
  Listed listed;
  VisitFields(listed, message);
  return listed.fields;
}

// What the API has and the wire does not would be dropped without a word.
TEST(FileOpProtoTest, TheWireHasEveryOperationAndField) {
  const auto check = [](const Descriptor& of_all, const std::set<std::string>& listed) {
    std::set<std::string> names;
    const auto& ops = *of_all.oneof_decl(0);
    for (int i = 0; i < ops.field_count(); ++i) {
      names.insert(ops.field(i)->name());
      CheckFields(*ops.field(i)->message_type(), "", listed);
    }
    std::set<std::string> rows;
    for (const tool::ClientOp& row : tool::kClientOps) rows.insert(row.name);
    EXPECT_EQ(names, rows) << of_all.name();
  };
  check(*v1::FileOpRequest::descriptor(), ListedOf<tool::Request>());
  check(*v1::FileOpResponse::descriptor(), ListedOf<tool::Response>());
}

TEST(FileOpProtoTest, RequestsKeepTheirFields) {
  v1::FileOpRequest request;
  request.mutable_edit()->set_path("a");
  request.mutable_edit()->set_old_text(std::string("o\0", 2));
  request.mutable_edit()->set_new_text("n");
  request.mutable_edit()->set_replace_all(true);
  EXPECT_EQ(*FromProto(request), (tool::Request{.op = tool::Op::kEdit,
                                                .path = "a",
                                                .old_text = std::string("o\0", 2),
                                                .new_text = "n",
                                                .replace_all = true}));
  request.mutable_write()->set_mode(0755);
  EXPECT_EQ(*FromProto(request), (tool::Request{.op = tool::Op::kWrite, .mode = 0755}));
  request.mutable_multi_edit()->set_path("a");
  request.mutable_multi_edit()->add_edits()->set_old_text("1");
  request.mutable_multi_edit()->add_edits()->set_replace_all(true);
  EXPECT_EQ(*FromProto(request),
            (tool::Request{
                .op = tool::Op::kMultiEdit, .path = "a", .edits = {{"1", ""}, {"", "", true}}}));
  request.mutable_read()->set_offset(uint64_t{1} << 40);
  EXPECT_EQ(*FromProto(request),
            (tool::Request{.op = tool::Op::kRead, .offset = uint64_t{1} << 40}));
}

TEST(FileOpProtoTest, RefusesNoOperationAndWhatTheWireDoesNotCarry) {
  EXPECT_EQ(FromProto(v1::FileOpRequest()).status(),
            InvalidArgument("op: give read, write, edit, list or multi_edit"));
  v1::FileOpRequest request;
  request.mutable_write()->set_path(std::string(tool::kMaxPath + 1, 'p'));
  EXPECT_EQ(FromProto(request).status(),
            InvalidArgument("path: 4096 bytes; at most 4095 are allowed"));
  request.mutable_edit()->set_new_text(std::string(tool::kMaxContent + 1, 'x'));
  EXPECT_EQ(FromProto(request).status(),
            InvalidArgument("new_text: 8388609 bytes; at most 8388608 are allowed"));
  request.mutable_multi_edit()->add_edits()->set_old_text(std::string(tool::kMaxContent + 1, 'x'));
  EXPECT_EQ(FromProto(request).status(),
            InvalidArgument("old_text: 8388609 bytes; at most 8388608 are allowed"));
  for (uint32_t i = 0; i < tool::kMaxEdits; ++i) request.mutable_multi_edit()->add_edits();
  EXPECT_EQ(FromProto(request).status(),
            InvalidArgument("edits: 257 entries; at most 256 are allowed"));
}

// The file worker is inside the cell: what it sets beside its operation's own fields goes nowhere.
TEST(FileOpProtoTest, AnswersHaveTheFieldsOfTheirOperation) {
  const tool::Response response{.content = "secret",
                                .total_bytes = 9,
                                .bytes = 7,
                                .created = true,
                                .replacements = 3,
                                .entries = {{"n", "d/n", "file", 5, 0755}}};
  v1::FileOpResponse wrote;
  ToProto(tool::Op::kWrite, response, &wrote);
  EXPECT_EQ(wrote.ShortDebugString(), "write { bytes: 7 created: true }");
  v1::FileOpResponse listed;
  ToProto(tool::Op::kList, response, &listed);
  EXPECT_EQ(listed.ShortDebugString(),
            R"(list { entries { name: "n" path: "d/n" type: "file" size: 5 } })");
  v1::FileOpResponse none;
  ToProto(tool::Op::kTree, response, &none);
  EXPECT_EQ(none.ShortDebugString(), "");
}

TEST(FileOpProtoTest, FiguresAreNumbersAndFlags) {
  v1::FileOpResponse answer;
  ToProto(tool::Op::kWrite, {.bytes = 7}, &answer);
  EXPECT_EQ(FiguresOf(answer),
            (std::vector<FileOpFigure>{{"bytes", 7, false}, {"created", 0, true}}));
  ToProto(tool::Op::kEdit, {.replacements = 2}, &answer);
  EXPECT_EQ(FiguresOf(answer), (std::vector<FileOpFigure>{{"replacements", 2, false}}));
  EXPECT_EQ(FiguresOf({}), std::vector<FileOpFigure>());
}

}  // namespace
}  // namespace odyssey::supervisor
