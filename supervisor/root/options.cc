#include "supervisor/root/options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <utility>

#include "common/os/file.h"
#include "policy/plan/plan_check.h"

namespace odyssey::root {
namespace {

Result<uid_t> ParseUid(const std::string& option, const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = strtoull(text.c_str(), &end, 10);
  if (errno != 0 || end == text.c_str() || *end != '\0' || text[0] == '-' || value >= UINT_MAX) {
    return InvalidArgument(option + " " + text + ": not a number below 4294967295");
  }
  return static_cast<uid_t>(value);
}

constexpr std::pair<const char*, std::string Options::*> kDirectories[] = {
    {"--state", &Options::state_directory},
    {"--run", &Options::run_directory},
    {"--policy", &Options::policy_directory},
    {"--bundle-store", &Options::bundle_store},
    {"--danger-grants", &Options::danger_grants}};

Status SetOption(const std::string& name, const std::string& value, Options* options) {
  for (const auto& [option, directory] : kDirectories) {
    if (name != option) continue;
    options->*directory = value;
    return plan::IsNormalizedAbsolute(value)
               ? OkStatus()
               : InvalidArgument(name + " " + value + ": give an absolute path without . and ..");
  }
  if (name == "--rpc-user" || name == "--rootless") {
    ODY_ASSIGN_OR_RETURN(const uid_t uid, ParseUid(name, value));
    if (uid == 0) return InvalidArgument(name + " " + value + ": root is not allowed");
    options->rpc_uid = uid;
    if (name == "--rootless") options->rootless_uid = options->uid_base = options->first_uid = uid;
  } else if (name == "--uid-base") {
    ODY_ASSIGN_OR_RETURN(options->uid_base, ParseUid(name, value));
    if (options->uid_base < 65536) {
      return InvalidArgument("--uid-base " + value + ": give at least 65536, the range of no user");
    }
  } else if (name == "--client-uid") {
    ODY_ASSIGN_OR_RETURN(const uid_t uid, ParseUid(name, value));
    options->client_uids.push_back(uid);
  } else if (name == "--listen-fd") {
    ODY_ASSIGN_OR_RETURN(options->listener, ParseUid(name, value));
  } else {
    return InvalidArgument(
        "unknown option " + name +
        "; allowed: --state --run --rpc-user --client-uid --uid-base --policy "
        "--bundle-store --danger-grants --listen-fd --rootless, and -- before rpc's");
  }
  return OkStatus();
}

}  // namespace

Result<Options> ParseOptions(int argc, char** argv) {
  Options options;
  options.argv = argv;
  for (int i = 1; i < argc; i += 2) {
    if (strcmp(argv[i], "--") == 0) {
      options.rpc_arguments.assign(argv + i + 1, argv + argc);
      break;
    }
    if (i + 1 == argc) return InvalidArgument(std::string(argv[i]) + ": needs a value");
    ODY_RETURN_IF_ERROR(SetOption(argv[i], argv[i + 1], &options));
  }
  if (options.state_directory.empty()) return InvalidArgument("--state is required");
  if (options.run_directory.empty()) return InvalidArgument("--run is required");
  ODY_ASSIGN_OR_RETURN(options.program_directory, ProgramDirectory());
  return options;
}

}  // namespace odyssey::root
