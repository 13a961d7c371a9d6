#include "supervisor/rpc/standing_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/temporary_directory.h"

namespace odyssey::supervisor {
namespace {

v1::CellInfo CellOf(const std::string& component, v1::CellPhase phase) {
  v1::CellInfo cell;
  cell.set_cell_id("cel_1");
  cell.mutable_key()->set_component(component);
  cell.mutable_standing()->set_phase(phase);
  cell.mutable_standing()->set_reason("why");
  return cell;
}

class StandingStoreTest : public ::testing::Test {
 protected:
  StandingStore Open() const {
    const UniqueFd fd(open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return std::move(*StandingStore::Open(fd.get()));
  }
  const fakes::TemporaryDirectory directory_;
};

TEST_F(StandingStoreTest, KeepsTheLastOfEachKeyForTheNextSupervisor) {
  ASSERT_TRUE(Open().Save(CellOf("a", v1::CELL_PHASE_STOPPED)).ok());
  ASSERT_TRUE(Open().Save(CellOf("a", v1::CELL_PHASE_QUARANTINED)).ok());
  ASSERT_TRUE(Open().Save(CellOf("b", v1::CELL_PHASE_STOPPED)).ok());
  ASSERT_TRUE(Open().Erase(CellOf("b", v1::CELL_PHASE_STOPPED).key()).ok());
  ASSERT_TRUE(Open().Erase(CellOf("c", v1::CELL_PHASE_STOPPED).key()).ok()) << "there is none";
  const auto all = Open().All();
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->front().SerializeAsString(),
            CellOf("a", v1::CELL_PHASE_QUARANTINED).SerializeAsString());
}

TEST_F(StandingStoreTest, WhatCannotBeReadIsNoCellThatMayRun) {
  ASSERT_TRUE(Open().Save(CellOf("a", v1::CELL_PHASE_QUARANTINED)).ok());
  for (const auto& file : std::filesystem::directory_iterator(directory_.path() + "/standings")) {
    std::ofstream(file.path()) << "";
  }
  EXPECT_EQ(Open().All().status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace odyssey::supervisor
