#ifndef ODYSSEY_TESTS_FAKES_BUNDLE_SOURCE_H_
#define ODYSSEY_TESTS_FAKES_BUNDLE_SOURCE_H_

// A small valid bundle in a directory of its own.

#include <string>

#include "tests/fakes/temporary_directory.h"

namespace odyssey::fakes {

class BundleSource final {
 public:
  // `tools`: the agent's rules, for example "ask: [Write]". `mode`: of the sandbox.
  explicit BundleSource(const std::string& tools = "{}",
                        const std::string& mode = "workspace_write",
                        const std::string& model = "{provider: fake, name: m}") {
    directory_.Write("odyssey.bundle.json5",
                     "{id: 'demo', version: '0.1.0', manifest_version: 'odyssey.bundle/v1',\n"
                     " readme: 'README.md', agent_spec: 'agent.yaml',\n"
                     " executor: {type: 'prebuilt', id: 'react'},\n"
                     " tools: [{name: 'Bash'}, {name: 'Read'}, {name: 'Write'}],\n"
                     " sandbox: {mode: '" +
                         mode + "', system_tools_mode: 'standard'}}\n");
    directory_.Write("agent.yaml",
                     "id: demo\nprompt: Be brief.\nmodel: " + model + "\ntools: " + tools + "\n");
    directory_.Write("README.md", "# demo\n");
  }

  const std::string& path() const { return directory_.path(); }
  void Write(const std::string& name, const std::string& content) const {
    directory_.Write(name, content);
  }

 private:
  TemporaryDirectory directory_;
};

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_BUNDLE_SOURCE_H_
