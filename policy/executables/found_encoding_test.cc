#include "policy/executables/found_encoding.h"

#include <gtest/gtest.h>

namespace odyssey::executables {
namespace {

const compile::FoundExecutables kFound = {
    .files = {{"/usr/bin/git", true, "named git"}, {"/lib/libz.so.1", false, "library of git"}},
    .notes = {"libx.so: missing"},
    .compilers = {"/usr/bin/git"},
    .identity = "ab"};

TEST(FoundEncodingTest, ComesBackAsItWas) {
  const auto back = DecodeFound(EncodeFound(kFound));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(*back, kFound);
}

TEST(FoundEncodingTest, WhatIsCutOffOrLongerIsRefused) {
  const std::string bytes = EncodeFound(kFound);
  EXPECT_FALSE(DecodeFound(bytes + "x").ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeFound(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
}

TEST(FoundEncodingTest, APathOutsideTheSystemsTreesIsRefused) {
  for (const char* path : {"/etc/x", "/usr/../etc/x", "usr/bin/x", "/", ""}) {
    compile::FoundExecutables found = kFound;
    found.files[0].path = path;
    EXPECT_FALSE(DecodeFound(EncodeFound(found)).ok()) << path;
  }
}

}  // namespace
}  // namespace odyssey::executables
