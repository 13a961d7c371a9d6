#include "ctl/changes/changes_client.h"

#include <utility>

#include "ctl/cell/cell_name.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::CellKey;
using supervisor::v1::ChangesStub;

// They copy files, one after another.
constexpr int kWriteCallMs = 600'000;

bool IsSession(const std::string& word) { return word.rfind("ses_", 0) == 0; }

// `client` is of the daemon that knows the word.
Result<CellKey> KeyOf(const Client& client, const std::string& word, Failure* failure) {
  if (IsSession(word)) {
    CellKey key;
    key.set_session_id(word);
    return key;
  }
  if (word.rfind("cel_", 0) != 0) return KeyOfCommand(word);
  const supervisor::v1::SupervisorStub stub(client.channel());
  supervisor::v1::DescribeCellRequest request;
  request.set_cell_id(word);
  supervisor::v1::DescribeCellResponse response;
  const Status status = stub.DescribeCell({kQuickCallMs}, request, &response);
  if (!status.ok()) {
    *failure = client.Explain("find cell " + word, status);
    return NotFound(word);
  }
  return response.cell().key();
}

template <typename Request>
void Select(const CellKey& key, const ChangesClient::Selections& selections, Request* request) {
  *request->mutable_key() = key;
  for (const auto& selection : selections) *request->add_selections() = selection;
}

}  // namespace

ChangesClient::ChangesClient(Client client, CellKey key, std::string name)
    : client_(std::move(client)),
      stub_(client_.channel()),
      key_(std::move(key)),
      name_(std::move(name)) {}

Result<ChangesClient> ChangesClient::Connect(const std::string& word, const Locations& locations,
                                             Failure* failure) {
  Result<Client> client =
      Client::Connect(IsSession(word) ? Daemon::kAgentd : Daemon::kSupervisor, locations);
  if (!client.ok()) {
    *failure = ExplainConnect("changes of " + word, client.status());
    return client.status();
  }
  Result<CellKey> key = KeyOf(*client, word, failure);
  if (!key.ok()) return key.status();
  return ChangesClient(std::move(*client), std::move(*key), word);
}

Status ChangesClient::SetAgainst(const std::string& word, Failure* failure) {
  if (IsSession(word) != IsSession(name_)) {
    *failure = {"diff " + name_,
                "--against " + word +
                    ": a session is compared with a session, "
                    "and a cell with a cell",
                ""};
    return InvalidArgument(word);
  }
  Result<CellKey> key = KeyOf(client_, word, failure);
  if (!key.ok()) return key.status();
  against_ = std::move(*key);
  return OkStatus();
}

Status ChangesClient::List(const Selections& selections, ChangeSet* out) const {
  supervisor::v1::ListChangesRequest request;
  Select(key_, selections, &request);
  request.set_root(root_);
  auto reader = stub_.ListChanges({kWriteCallMs}, request);
  supervisor::v1::ListChangesResponse response;
  bool ended = false;
  while (reader.Read(&response)) {
    ended = response.has_end();
    if (response.has_change()) out->changes.push_back(std::move(*response.mutable_change()));
    if (response.has_end()) out->end = std::move(*response.mutable_end());
  }
  Status status = reader.Finish();
  if (!status.ok() || ended) return status;
  // Without its digest nothing ties a commit to what was shown.
  return Internal("the list of changes has no end");
}

Status ChangesClient::Diff(const Selections& selections, uint64_t max_bytes, std::string* text,
                           bool* truncated) const {
  supervisor::v1::DiffChangesRequest request;
  Select(key_, selections, &request);
  request.set_max_bytes(max_bytes);
  request.set_root(root_);
  if (against_) *request.mutable_against() = *against_;
  auto reader = stub_.DiffChanges({kWriteCallMs}, request);
  supervisor::v1::DiffChangesResponse response;
  while (reader.Read(&response)) {
    text->append(response.text());
    *truncated = response.truncated();
  }
  return reader.Finish();
}

Status ChangesClient::Commit(const Selections& selections, const std::string& digest,
                             supervisor::v1::CommitChangesResponse* response) const {
  supervisor::v1::CommitChangesRequest request;
  Select(key_, selections, &request);
  request.set_digest(digest);
  return stub_.CommitChanges({kWriteCallMs}, request, response);
}

Status ChangesClient::Discard(const Selections& selections,
                              supervisor::v1::DiscardChangesResponse* response) const {
  supervisor::v1::DiscardChangesRequest request;
  Select(key_, selections, &request);
  return stub_.DiscardChanges({kWriteCallMs}, request, response);
}

}  // namespace odyssey::ctl
