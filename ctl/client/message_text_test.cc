#include "ctl/client/message_text.h"

#include <gtest/gtest.h>

#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::ctl {
namespace {

TEST(MessageTextTest, NamesTheFieldWhoseTextIsNone) {
  supervisor::v1::PrepareCellRequest request;
  request.set_workspace("/srv/\u00e9");
  request.mutable_sandbox()->add_mounts()->set_source("/a");
  EXPECT_TRUE(CheckText(request).ok());
  request.mutable_sandbox()->add_mounts()->set_source("/\xe9");
  EXPECT_EQ(CheckText(request),
            InvalidArgument("sandbox.mounts[1].source: not UTF-8; only text can be given"));
  request.mutable_sandbox()->clear_mounts();
  (*request.mutable_sandbox()->mutable_env())["NAME"] = "\xff";
  EXPECT_EQ(CheckText(request),
            InvalidArgument("sandbox.env[NAME].value: not UTF-8; only text can be given"));
}

TEST(MessageTextTest, BytesMayBeAnything) {
  supervisor::v1::ExecRequest request;
  request.set_stdin("\xff");
  EXPECT_TRUE(CheckText(request).ok());
  request.mutable_start()->add_argv("\xff");
  EXPECT_NE(CheckText(request).message().find("start.argv[0]"), std::string::npos);
}

}  // namespace
}  // namespace odyssey::ctl
