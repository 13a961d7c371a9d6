#include "policy/rules/program_table.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

namespace odyssey::rules {
namespace {

constexpr std::string_view kRoles = "wrtdWTPFNnRvOXAfaIDLi@ucSep!gksq";

TEST(ProgramTableTest, EveryNameStandsOnce) {
  std::set<std::string> seen;
  for (const Program& program : AllPrograms()) {
    std::istringstream names{std::string(program.names)};
    for (std::string name; names >> name;) {
      EXPECT_TRUE(seen.insert(name).second) << name;
      EXPECT_EQ(FindProgram(name), &program) << name;
    }
  }
  EXPECT_GE(seen.size(), 120u);
}

TEST(ProgramTableTest, EveryOptionHasAKnownRole) {
  for (const Program& program : AllPrograms()) {
    std::istringstream options{std::string(program.options)};
    for (std::string option; options >> option;) {
      const size_t end = option.find_first_of("=?:");
      KnownOption known;
      EXPECT_TRUE(FindOption(program, option.substr(0, end), &known)) << option;
      EXPECT_TRUE(known.role == '\0' || kRoles.find(known.role) != kRoles.npos)
          << program.names << ": " << option;
      EXPECT_TRUE(end == std::string::npos || option.size() <= end + 2)
          << program.names << ": " << option;
    }
  }
}

// A subcommand is looked up only below a program that has some.
TEST(ProgramTableTest, EverySubcommandHasItsProgram) {
  for (const Program& program : AllPrograms()) {
    std::istringstream names{std::string(program.names)};
    for (std::string name; names >> name;) {
      const size_t slash = name.find('/');
      if (slash == std::string::npos) continue;
      const Program* parent = FindProgram(name.substr(0, slash));
      ASSERT_NE(parent, nullptr) << name;
      EXPECT_TRUE(Has(*parent, kSubcommands)) << name;
    }
  }
}

TEST(ProgramTableTest, FindsVersionsAbbreviationsAndFamilies) {
  EXPECT_EQ(FindProgram("python3.11"), FindProgram("python"));
  EXPECT_EQ(FindProgram("gcc-12"), FindProgram("gcc"));
  EXPECT_EQ(FindProgram("mkfs.ext4"), FindProgram("mkfs"));
  EXPECT_EQ(FindProgram("ld-linux-riscv64.so.1"), FindProgram("ld.so"));
  EXPECT_EQ(FindProgram("frobnicate"), nullptr);
  EXPECT_EQ(FindProgram("42"), nullptr);
  KnownOption option;
  EXPECT_TRUE(FindOption(*FindProgram("sort"), "--outp", &option));
  EXPECT_EQ(option.role, 'w');
  EXPECT_FALSE(FindOption(*FindProgram("sort"), "--nope", &option));
}

}  // namespace
}  // namespace odyssey::rules
