#include "supervisor/rpc/cell_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace odyssey::supervisor {
namespace {

const CellKey kGood = {"ses_1", "agent", "tooling", "main"};

TEST(CellKeyTest, AcceptsPlainWordsAndAnEmptySession) {
  EXPECT_TRUE(CheckCellKey(kGood).ok());
  EXPECT_TRUE(CheckCellKey({"", "a.b-c_D9", "k", std::string(128, 'x')}).ok());
}

TEST(CellKeyTest, NamesThePartThatIsWrong) {
  const std::string bad[] = {
      "a/b", "a b", "a\n", std::string("a\0", 2), "é", std::string(129, 'x')};
  for (const std::string& value : bad) {
    const auto expect = [&](const CellKey& key, const std::string& field) {
      const Status status = CheckCellKey(key);
      EXPECT_EQ(status.code(), Code::kInvalidArgument) << value;
      EXPECT_EQ(status.message().rfind("key." + field + " ", 0), 0u) << status.message();
    };
    expect({value, "a", "k", "c"}, "session_id");
    expect({"s", value, "k", "c"}, "agent_id");
    expect({"s", "a", value, "c"}, "kind");
    expect({"s", "a", "k", value}, "component");
  }
  EXPECT_FALSE(CheckCellKey({"s", "", "k", "c"}).ok());
  EXPECT_FALSE(CheckCellKey({"s", "a", "", "c"}).ok());
  EXPECT_FALSE(CheckCellKey({"s", "a", "k", ""}).ok());
}

TEST(CellTreeOfTest, TwoKeysNeverShareATree) {
  const std::string long_one(128, 'x');
  const CellKey keys[] = {
      kGood,
      {"", "agent", "tooling", "main"},
      {"shared", "agent", "tooling", "main"},
      {"ses.1", "agent", "tooling", "main"},
      {"ses_1", "agent", "tooling", "Main"},
      {"ses_1", "agent", "tooling", long_one},
      {"ses_1", "agent", "tooling", long_one.substr(1)},
      {"ses_1", "..", "tooling", "main"},
      {"ses_1", ".", "tooling", "main"},
      {"ses_1", "tooling", "agent", "main"},
  };
  std::set<std::string> trees;
  for (const CellKey& key : keys) EXPECT_TRUE(trees.insert(CellTreeOf(key)).second);
}

TEST(CellTreeOfTest, IsFourPlainComponentsWhateverTheKey) {
  for (const CellKey& key : {kGood, CellKey{"", "..", ".", "..."}, CellKey{"a.", "b", "c", "-d"}}) {
    const std::string tree = CellTreeOf(key);
    EXPECT_EQ(std::count(tree.begin(), tree.end(), '/'), 3) << tree;
    EXPECT_EQ(tree.find('.'), std::string::npos) << tree;
    EXPECT_EQ(tree.find("//"), std::string::npos) << tree;
    EXPECT_LT(tree.size(), 255u);
  }
}

}  // namespace
}  // namespace odyssey::supervisor
