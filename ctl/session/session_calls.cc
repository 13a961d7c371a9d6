#include "ctl/session/session_calls.h"

#include <unistd.h>

#include <utility>

#include "agentd/package/reference.h"
#include "common/message/message_json.h"
#include "common/os/file.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/signal_fd.h"
#include "ctl/bundle/bundle_upload.h"
#include "ctl/bundle/named_bundle.h"
#include "ctl/changes/direct_writes.h"
#include "ctl/client/message_text.h"
#include "ctl/file/named_place.h"
#include "ctl/image/image_puller.h"
#include "ctl/image/image_signals.h"
#include "ctl/policy/exec_options.h"
#include "ctl/policy/policy_file.h"
#include "odyssey/agent/v1/bundle.stub.h"
#include "policy/model/own_variables.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kMaxPromptBytes = 1024 * 1024;                    // agentd's limit
constexpr size_t kMaxSessionFileBytes = size_t{64} * 1024 * 1024;  // agentd's too
constexpr size_t kChunkBytes = 256 * 1024;
constexpr int kImportMs = 600'000;
constexpr int kTurnsMs = 600'000;

Result<FoundPlace> ResolveCwd(const std::string& key, const std::string& cwd,
                              const ExecInputs& inputs) {
  Result<FoundPlace> place = inputs.resolve(cwd.empty() ? "." : cwd);
  if (!place.ok()) return Status(place.status().code(), key + ": " + place.status().message());
  if (place->is_directory) return place;
  return InvalidArgument(key + " " + place->name + ": not a directory");
}

// What the bundle's "." means is the client's directory.
std::vector<std::string> DirectlyWritten(const dialect::SandboxSpec& sandbox,
                                         const std::string& cwd) {
  std::vector<std::string> out;
  if (sandbox.mode == dialect::SandboxMode::kDangerFullAccess) return out;
  if (sandbox.writes == policy::Writes::kReview) return out;
  for (const std::string& mount : sandbox.write_mounts) out.push_back(mount == "." ? cwd : mount);
  return out;
}

void TellLink(const Console& console, const std::string& option, const FoundPlace& place) {
  const std::optional<std::string> note = NoteOfLink(option, place);
  if (note) console.Warn("odyssey-ctl: " + Sanitize(*note, Lines::kOne));
}

// What a session's request says of its bundle.
struct BundleFacts {
  std::string bundle;                              // a path or a reference
  std::map<std::string, std::string> environment;  // of the client, what the bundle reads
  std::vector<std::string> written;                // host directories, without review
  std::string image;                               // "": none
};

Result<BundleFacts> FactsOfDirectory(const Console& console, const std::string& directory,
                                     const std::string& cwd, const ExecInputs& inputs) {
  BundleFacts out;
  ODY_ASSIGN_OR_RETURN(FoundPlace place, inputs.resolve(directory));
  TellLink(console, "bundle " + directory, place);
  out.bundle = std::move(place.name);
  ODY_ASSIGN_OR_RETURN(const dialect::Bundle bundle,
                       dialect::LoadBundle(out.bundle, OpenBundleDirectory));
  out.environment = ReadHostEnvironment(bundle.sandbox, inputs.environment);
  out.written = DirectlyWritten(bundle.sandbox, cwd);
  out.image = bundle.sandbox.image.reference;
  return out;
}

// `manifest`: its JSON, which agentd has checked.
std::string ImageOf(const std::string& manifest) {
  const Json json = Json::parse(manifest, nullptr, /*allow_exceptions=*/false);
  const Json image = json.is_object() && json.contains("sandbox") && json["sandbox"].is_object()
                         ? json["sandbox"].value("image", Json())
                         : Json();
  if (image.is_string()) return image.get<std::string>();
  const auto name = image.is_object() ? image.find("name") : image.end();
  return name != image.end() && name->is_string() ? name->get<std::string>() : "";
}

// Of an installed bundle agentd says what is read and written.
Result<BundleFacts> FactsOfReference(const Client& client, const std::string& reference,
                                     const std::string& cwd, const ExecInputs& inputs) {
  agent::v1::InspectBundleRequest request;
  request.set_reference(reference);
  agent::v1::InspectBundleResponse response;
  ODY_RETURN_IF_ERROR(agent::v1::BundleServiceStub(client.channel())
                          .InspectBundle({kCellCallMs}, request, &response));
  BundleFacts out;
  out.bundle = response.bundle().digest();
  for (const std::string& source : response.bundle().env_sources()) {
    if (const auto value = inputs.environment(source)) out.environment[source] = *value;
  }
  policy::InheritVariables(inputs.environment, &out.environment);
  out.image = ImageOf(response.bundle().manifest());
  for (const std::string& mount : response.bundle().direct_writes()) {
    out.written.push_back(mount == "." ? cwd : mount);
  }
  return out;
}

Result<BundleFacts> FactsOf(const Console& console, const Client& client, const std::string& named,
                            const std::string& cwd, const ExecInputs& inputs) {
  ODY_ASSIGN_OR_RETURN(const NamedBundle bundle, LookAtName(named));
  if (bundle.directory.empty()) return FactsOfReference(client, bundle.reference, cwd, inputs);
  return FactsOfDirectory(console, bundle.directory, cwd, inputs);
}

Result<agent::v1::CreateSessionRequest> MakeRequest(const Console& console, const Client& client,
                                                    const NewSession& session, std::string cwd,
                                                    const ExecInputs& inputs,
                                                    std::vector<std::string>* written,
                                                    std::string* image) {
  ODY_ASSIGN_OR_RETURN(BundleFacts facts, FactsOf(console, client, session.bundle, cwd, inputs));
  agent::v1::CreateSessionRequest request;
  request.set_bundle(std::move(facts.bundle));
  request.set_cwd(std::move(cwd));
  request.set_agent_id(session.agent_id);
  request.set_allow_danger(session.allow_danger);
  request.set_review(session.review);
  *request.mutable_budget() = session.budget;
  request.set_approval_timeout_ms(session.approval_timeout_ms);
  for (auto& [name, value] : facts.environment) (*request.mutable_env())[name] = value;
  if (!session.review) *written = std::move(facts.written);
  *image = std::move(facts.image);
  ODY_RETURN_IF_ERROR(CheckText(request));
  return request;
}

// Nothing: the image is there, or agentd's answer says why there is no session.
std::optional<Failure> PullImageOf(const Console& console, const NewSession& session,
                                   const std::string& image) {
  if (image.empty() || session.pull == PullWhen::kNever) return std::nullopt;
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, session.locations);
  if (!client.ok()) return std::nullopt;
  ImagePuller puller(console, *client, getuid(), session.pull);
  const Status status = puller.PullIfMissing(image);
  if (status.ok()) return std::nullopt;
  return Failure{"bundle " + session.bundle + ": image " + image, status.message(), puller.next()};
}

// A directory that agentd cannot read is uploaded.
Status CallCreateSession(const Client& client, const agent::v1::SessionServiceStub& stub,
                         agent::v1::CreateSessionRequest request,
                         agent::v1::CreateSessionResponse* response) {
  const Status status = stub.CreateSession({kCellCallMs}, request, response);
  if (status.detail().hint != package::kHintUnreadableBundle) return status;
  ImportOptions options;
  options.set_unlisted(true);
  ODY_ASSIGN_OR_RETURN(const agent::v1::Bundle bundle,
                       UploadBundle(client.channel(), request.bundle(), options));
  request.set_bundle(bundle.digest());
  return stub.CreateSession({kCellCallMs}, request, response);
}

// The variables of another user's session are its owner's to send.
void AddEnvironment(const agent::v1::Session& session, agent::v1::SubmitTurnRequest* request) {
  if (session.owner_uid() != geteuid()) return;
  const ExecInputs inputs = MakeExecInputs();
  std::map<std::string, std::string> values;
  policy::InheritVariables(inputs.environment, &values);
  for (const std::string& source : session.env_sources()) {
    if (const auto value = inputs.environment(source)) values[source] = *value;
  }
  request->mutable_env()->mutable_values()->insert(values.begin(), values.end());
}

// A directory is packed and uploaded.
Result<std::string> ReferenceOf(const Client& client, const std::string& named) {
  if (named.empty()) return named;
  ODY_ASSIGN_OR_RETURN(const NamedBundle bundle, LookAtName(named));
  if (bundle.directory.empty()) return bundle.reference;
  ImportOptions options;
  options.set_unlisted(true);
  ODY_ASSIGN_OR_RETURN(const agent::v1::Bundle uploaded,
                       UploadBundle(client.channel(), bundle.directory, options));
  return uploaded.digest();
}

Result<std::string> ReadSessionFile(const std::string& file) {
  ODY_ASSIGN_OR_RETURN(const NamedPlace place, OpenNamedPlace(file, Links::kFileItself));
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd, place.OpenFile());
  return ReadToTheEnd(fd.get(), file, kMaxSessionFileBytes);
}

Result<agent::v1::Session> SendSessionFile(const agent::v1::SessionServiceStub& stub,
                                           agent::v1::ImportSessionRequest request,
                                           const std::string& text) {
  auto stream = stub.ImportSession({kImportMs});
  for (size_t sent = 0; sent == 0 || sent < text.size(); sent += kChunkBytes) {
    request.set_data(text.substr(sent, kChunkBytes));
    if (!stream.Write(request)) break;  // its status says why
    request.Clear();
  }
  stream.WritesDone();
  agent::v1::ImportSessionResponse response;
  const bool answered = stream.Read(&response);
  ODY_RETURN_IF_ERROR(stream.Finish());
  if (!answered) return Internal("agentd gave no answer");
  return std::move(*response.mutable_session());
}

// The model is the bundle's: a file cannot choose who reads the session.
void TellModel(const Console& console, const std::string& text, const agent::v1::Session& session) {
  const Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object()) return;
  const auto word = [&](const char* key, const char* otherwise) {
    const auto it = file.find(key);
    return it != file.end() && it->is_string() ? it->get<std::string>() : std::string(otherwise);
  };
  const std::string named = word("model_provider", "openai") + "/" + word("model_id", "");
  const std::string used = session.model_provider() + "/" + session.model_id();
  const auto config = file.find("model_config");
  const bool configured = config != file.end() && !config->is_null();
  if (named == used && !configured) return;
  console.Warn("odyssey-ctl: " +
               Sanitize("the model is the bundle's, " + used + ", not the file's " + named +
                            (configured ? " with its model_config" : ""),
                        Lines::kOne));
}

template <typename T>
std::optional<T> Report(const Console& console, Made<T> made) {
  if (T* const value = std::get_if<T>(&made)) return std::move(*value);
  console.Fail(std::get<Failure>(made));
  return std::nullopt;
}

}  // namespace

Status CheckSameBundle(const std::string& named, const agent::v1::Session& session) {
  ODY_ASSIGN_OR_RETURN(const NamedBundle bundle, LookAtName(named));
  ODY_ASSIGN_OR_RETURN(const package::Reference own, package::ParseReference(session.bundle_ref()));
  package::Reference other;
  if (bundle.directory.empty()) {
    ODY_ASSIGN_OR_RETURN(other, package::ParseReference(bundle.reference));
  } else {
    const ExecInputs inputs = MakeExecInputs();
    ODY_ASSIGN_OR_RETURN(const FoundPlace place, inputs.resolve(bundle.directory));
    ODY_ASSIGN_OR_RETURN(const dialect::Bundle spec,
                         dialect::LoadBundle(place.name, OpenBundleDirectory));
    other.id = spec.id;
  }
  const auto differs = [](const std::string& said, const std::string& is) {
    return !said.empty() && said != is;
  };
  if (!differs(other.id, own.id) && !differs(other.ns, own.ns) &&
      !differs(other.version, own.version) && !differs(other.digest, session.bundle_digest())) {
    return OkStatus();
  }
  return InvalidArgument("bundle " + named + ": session " + session.id() + " is of " +
                         session.bundle_ref() + "; name that, or leave --session out");
}

Result<std::string> ReadPrompt(const std::string& argument, const std::string& option) {
  if (!argument.empty() && !option.empty()) {
    return InvalidArgument("prompt: given as an argument and by --prompt; give one");
  }
  const std::string& given = argument.empty() ? option : argument;
  if (given.empty()) {
    return InvalidArgument("prompt: missing; give it as the last argument or by --prompt");
  }
  if (given != "-") return given;
  ODY_ASSIGN_OR_RETURN(std::string read,
                       ReadToTheEnd(STDIN_FILENO, "the prompt on stdin", kMaxPromptBytes));
  if (read.empty()) return InvalidArgument("prompt: stdin is empty");
  return read;
}

Made<agent::v1::Session> TryCreateSession(const Console& console, const Client& client,
                                          const agent::v1::SessionServiceStub& stub,
                                          const NewSession& session) {
  const ExecInputs inputs = MakeExecInputs();
  Result<FoundPlace> cwd = ResolveCwd(session.cwd_key, session.cwd, inputs);
  if (!cwd.ok()) {
    return Failure{
        "create a session", cwd.status().message(),
        "Name a directory that the bundle may mean by \".\" with " + session.cwd_key + "."};
  }
  TellLink(console, session.cwd_key + " " + session.cwd, *cwd);
  std::vector<std::string> written;
  std::string image;
  const Result<agent::v1::CreateSessionRequest> request =
      MakeRequest(console, client, session, std::move(cwd->name), inputs, &written, &image);
  if (!request.ok()) {
    return Failure{"create a session", request.status().message(),
                   request.status().code() == Code::kNotFound
                       ? "odyssey-ctl bundle list shows the installed bundles."
                       : "odyssey-ctl bundle validate DIR lists every problem of a bundle."};
  }
  if (std::optional<Failure> failure = PullImageOf(console, session, image)) return *failure;
  agent::v1::CreateSessionResponse response;
  const Status status = CallCreateSession(client, stub, *request, &response);
  if (!status.ok()) return client.Explain("create a session", status);
  WarnOfDirectWrites(console, written);
  return std::move(*response.mutable_session());
}

std::optional<agent::v1::Session> CreateSession(const Console& console, const Client& client,
                                                const agent::v1::SessionServiceStub& stub,
                                                const NewSession& session) {
  Made<agent::v1::Session> made = TryCreateSession(console, client, stub, session);
  const bool failed = std::holds_alternative<Failure>(made);
  if (failed && PendingSignal(ImageSignals()) != 0) return std::nullopt;
  return Report(console, std::move(made));
}

std::optional<agent::v1::Session> ImportSession(const Console& console, const Client& client,
                                                const agent::v1::SessionServiceStub& stub,
                                                const SessionImport& what) {
  const std::string doing = "import " + what.file;
  const ExecInputs inputs = MakeExecInputs();
  const auto import = [&]() -> Result<agent::v1::Session> {
    ODY_ASSIGN_OR_RETURN(const FoundPlace cwd, ResolveCwd("--cwd", what.cwd, inputs));
    TellLink(console, "--cwd " + what.cwd, cwd);
    ODY_ASSIGN_OR_RETURN(const std::string text, ReadSessionFile(what.file));
    agent::v1::ImportSessionRequest request;
    request.set_cwd(cwd.name);
    ODY_ASSIGN_OR_RETURN(*request.mutable_bundle(), ReferenceOf(client, what.bundle));
    ODY_RETURN_IF_ERROR(CheckText(request));
    ODY_ASSIGN_OR_RETURN(agent::v1::Session session,
                         SendSessionFile(stub, std::move(request), text));
    TellModel(console, text, session);
    // One that was uploaded for this session is not listed: its manifest was the person's own.
    const Result<BundleFacts> facts =
        FactsOfReference(client, session.bundle_ref(), session.cwd(), inputs);
    if (facts.ok()) WarnOfDirectWrites(console, facts->written);
    return session;
  };
  Result<agent::v1::Session> session = import();
  if (session.ok()) return *std::move(session);
  Failure failure = client.Explain(doing, session.status());
  if (session.status().code() == Code::kNotFound && what.bundle.empty()) {
    failure.next = "Install the bundle, or name another one with --bundle.";
  }
  console.Fail(failure);
  return std::nullopt;
}

Result<std::vector<agent::v1::Turn>> ListTurns(const agent::v1::SessionServiceStub& stub,
                                               const std::string& session_id) {
  agent::v1::ListTurnsRequest request;
  request.set_session_id(session_id);
  auto stream = stub.ListTurns({kTurnsMs}, request);
  std::vector<agent::v1::Turn> out;
  for (agent::v1::ListTurnsResponse part; stream.Read(&part);) {
    const bool goes_on = !out.empty() && out.back().id() == part.turn().id();
    if (goes_on) {
      out.back().mutable_chat_history()->MergeFrom(part.turn().chat_history());
    } else {
      out.push_back(std::move(*part.mutable_turn()));
    }
  }
  ODY_RETURN_IF_ERROR(stream.Finish());
  return out;
}

Made<agent::v1::SubmitTurnResponse> TrySubmitTurn(const Client& client,
                                                  const agent::v1::SessionServiceStub& stub,
                                                  const std::string& session_id,
                                                  const std::string& prompt,
                                                  const TurnTerms& terms) {
  agent::v1::GetSessionRequest which;
  which.set_session_id(session_id);
  agent::v1::GetSessionResponse session;
  Status status = stub.GetSession({kQuickCallMs}, which, &session);
  agent::v1::SubmitTurnResponse response;
  if (status.ok()) {
    agent::v1::SubmitTurnRequest request;
    request.set_session_id(session_id);
    request.set_prompt(prompt);
    request.set_deadline_ms(terms.deadline_ms);
    request.set_idempotency_key(terms.idempotency_key);
    AddEnvironment(session.session(), &request);
    status = stub.SubmitTurn({kQuickCallMs}, request, &response);
  }
  if (status.ok()) return response;
  return client.Explain("submit the turn", status);
}

std::optional<agent::v1::SubmitTurnResponse> SubmitTurn(
    const Console& console, const Client& client, const agent::v1::SessionServiceStub& stub,
    const std::string& session_id, const std::string& prompt, const TurnTerms& terms) {
  return Report(console, TrySubmitTurn(client, stub, session_id, prompt, terms));
}

}  // namespace odyssey::ctl
