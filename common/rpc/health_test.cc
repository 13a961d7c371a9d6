#include "common/rpc/health.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "tests/testing/raw_call.h"

namespace odyssey::rpc {
namespace {

using testing::AskHealth;

class HealthTest : public ::testing::Test {
 protected:
  HealthTest() {
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&service_);
    server_ = StartWithHealth(&builder, {"a.v1.One", "a.v1.Two"});
    channel_ = server_->InProcessChannel({});
  }

  grpc::CallbackGenericService service_;  // a server needs a service
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(HealthTest, AnswersForTheServerAndForEachService) {
  for (const char* name : {"", "a.v1.One", "a.v1.Two"}) {
    EXPECT_EQ(AskHealth(channel_, name), "SERVING") << name;
  }
}

TEST_F(HealthTest, KnowsNoOtherService) {
  for (const char* name : {"a.v1", "a.v1.Three", "One", "grpc.health.v1.Health"}) {
    EXPECT_EQ(AskHealth(channel_, name), "NOT_FOUND") << name;
  }
}

}  // namespace
}  // namespace odyssey::rpc
