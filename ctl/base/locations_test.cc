#include "ctl/base/locations.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace odyssey::ctl {
namespace {

struct World {
  std::map<std::string, std::string> environment = {{"HOME", "/home/ada"}};
  std::set<std::string> files;
};

LocationInputs In(const World& world) {
  LocationInputs in;
  in.cwd = "/srv/here";
  in.environment = [world](const char* name) {
    const auto found = world.environment.find(name);
    return found == world.environment.end() ? std::string() : found->second;
  };
  in.exists = [world](const std::string& path) { return world.files.count(path) > 0; };
  return in;
}

TEST(LocationsTest, DefaultIsTheHomeDirectoryOrTheSystemsForRoot) {
  LocationInputs in = In({});
  EXPECT_EQ(ResolveLocations(in),
            (Locations{"/home/ada/.odyssey", "/home/ada/.odyssey/run/agentd.sock",
                       "/home/ada/.odyssey/run/supervisor.sock", "/etc/odyssey/policy.d",
                       "/home/ada/.odyssey/agentd/bundles/trees"}));
  in.is_root = true;
  EXPECT_EQ(ResolveLocations(in).state, "/var/lib/odyssey");
}

// Root ran `up --allow-user`, without a --state.
TEST(LocationsTest, RootsDaemonsAreFoundWhereThereAreNoOthers) {
  World world;
  world.files = {"/var/lib/odyssey/run/agentd.sock", "/var/lib/odyssey/run/supervisor.sock"};
  EXPECT_EQ(ResolveLocations(In(world)),
            (Locations{"/var/lib/odyssey", "/var/lib/odyssey/run/agentd.sock",
                       "/var/lib/odyssey/run/supervisor.sock", "/var/lib/odyssey/policy.d",
                       "/var/lib/odyssey/agentd/bundles/trees"}));
  world.files.insert("/home/ada/.odyssey/run/agentd.sock");
  EXPECT_EQ(ResolveLocations(In(world)).agentd_socket, "/home/ada/.odyssey/run/agentd.sock");
}

TEST(LocationsTest, SystemSocketsAnswerWhereTheStateHasNone) {
  World world;
  world.files = {"/run/odyssey/agentd.sock", "/run/odyssey/supervisor.sock"};
  EXPECT_EQ(ResolveLocations(In(world)).agentd_socket, "/run/odyssey/agentd.sock");
  EXPECT_EQ(ResolveLocations(In(world)).supervisor_socket, "/run/odyssey/supervisor.sock");
  EXPECT_EQ(ResolveLocations(In(world)).bundle_store, "/var/lib/odyssey/agentd/bundles/trees");

  world.files.insert("/home/ada/.odyssey/run/agentd.sock");
  EXPECT_EQ(ResolveLocations(In(world)).agentd_socket, "/home/ada/.odyssey/run/agentd.sock");
}

TEST(LocationsTest, NamedStateNeverFallsBackToTheSystem) {
  World world;
  world.files = {"/run/odyssey/agentd.sock", "/run/odyssey/supervisor.sock"};
  LocationInputs in = In(world);
  in.state_option = "st/";
  EXPECT_EQ(
      ResolveLocations(in),
      (Locations{"/srv/here/st", "/srv/here/st/run/agentd.sock", "/srv/here/st/run/supervisor.sock",
                 "/srv/here/st/policy.d", "/srv/here/st/agentd/bundles/trees"}));
}

TEST(LocationsTest, OptionBeatsEnvironmentBeatsState) {
  World world;
  world.environment["ODYSSEY_SOCKET"] = "/e/a.sock";
  world.environment["ODYSSEY_SUPERVISOR_SOCKET"] = "s.sock";
  LocationInputs in = In(world);
  EXPECT_EQ(ResolveLocations(in).agentd_socket, "/e/a.sock");
  EXPECT_EQ(ResolveLocations(in).supervisor_socket, "/srv/here/s.sock");
  in.socket_option = "../x.sock";
  EXPECT_EQ(ResolveLocations(in).agentd_socket, "/srv/x.sock");
}

TEST(LocationsTest, ThePolicyIsThatOfTheSupervisorThatIsMeant) {
  World world;
  EXPECT_EQ(ResolveLocations(In(world)).policy_directory, "/etc/odyssey/policy.d");
  world.files = {"/home/ada/.odyssey/run/supervisor.sock"};
  EXPECT_EQ(ResolveLocations(In(world)).policy_directory, "/home/ada/.odyssey/policy.d");
  world.files = {"/run/odyssey/supervisor.sock"};
  EXPECT_EQ(ResolveLocations(In(world)).policy_directory, "/etc/odyssey/policy.d");
  world.environment["ODYSSEY_SUPERVISOR_SOCKET"] = "/srv/st/run/supervisor.sock";
  world.files = {"/srv/st/run/supervisor.sock"};
  EXPECT_EQ(ResolveLocations(In(world)).policy_directory, "/srv/st/policy.d");
}

}  // namespace
}  // namespace odyssey::ctl
