#include "ctl/hub/hub_verbs.h"

namespace odyssey::ctl {

std::vector<Command> HubVerbs() {
  const OptionSpec hub = {.name = "hub",
                          .kind = ValueKind::kText,
                          .value_name = "URL",
                          .help = "default: ODYSSEY_HUB_URL, or http://127.0.0.1:8473"};
  const OptionSpec registry = {.name = "registry",
                               .kind = ValueKind::kText,
                               .value_name = "URL",
                               .help = "the same as --hub"};
  return {
      {.name = kPushVerb,
       .summary = "publish a bundle to a hub",
       .positionals = {{.name = "SRC", .kind = ValueKind::kFile}},
       .options = {{.name = "to",
                    .kind = ValueKind::kText,
                    .value_name = "NS/ID[:VERSION]",
                    .help = "what it is on the hub: its own id and version, in a namespace"},
                   hub,
                   registry,
                   {.name = "sign",
                    .kind = ValueKind::kFile,
                    .value_name = "KEY",
                    .help = "sign it with the secret key in this file"}},
       .notes = "SRC is an archive, a bundle directory, or the reference of an installed bundle.\n"
                "ODYSSEY_HUB_TOKEN is sent as bearer token. In another namespace than its own the\n"
                "bundle has another digest.",
       .run = nullptr},
      {.name = kPullVerb,
       .summary = "install a bundle from a hub, or fetch its archive",
       .positionals = {{.name = "REF"}},
       .options = {hub,
                   registry,
                   {.name = "archive",
                    .kind = ValueKind::kFile,
                    .value_name = "PATH",
                    .help = "write the archive and install nothing: a file, or a directory for "
                            "ID-VERSION.odyssey"},
                   {.name = "force",
                    .help = "replace the version if it is installed with another digest"},
                   {.name = "verify",
                    .kind = ValueKind::kFile,
                    .value_name = "KEY",
                    .help = "refuse it unless one of these public keys has signed it",
                    .repeatable = true}},
       .notes = "REF is NS/ID, with @VERSION, :VERSION, @latest or @sha256:HEX.\n"
                "Namespaces in /etc/odyssey/trusted-keys and ~/.config/odyssey/trusted-keys need\n"
                "a signature.",
       .run = nullptr},
      {.name = kServeVerb,
       .summary = "serve a hub from a directory until SIGINT or SIGTERM",
       .positionals = {{.name = "DIR", .kind = ValueKind::kDirectory}},
       .options = {{.name = "bind",
                    .kind = ValueKind::kText,
                    .value_name = "ADDR:PORT",
                    .help = "default: 127.0.0.1:8473; off loopback ODYSSEY_HUB_TOKEN is needed"},
                   {.name = "allow-replace", .help = "a tag can be published again, changed"}},
       .notes = "With ODYSSEY_HUB_TOKEN set, clients need it.",
       .run = nullptr},
      {.name = kKeygenVerb,
       .summary = "make an Ed25519 key: FILE, and its public key FILE.pub",
       .positionals = {{.name = "FILE", .kind = ValueKind::kFile}},
       .run = nullptr},
  };
}

}  // namespace odyssey::ctl
