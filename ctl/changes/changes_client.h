#ifndef ODYSSEY_CTL_CHANGES_CHANGES_CLIENT_H_
#define ODYSSEY_CTL_CHANGES_CHANGES_CLIENT_H_

// The changes of one cell or session: the daemon that serves them, the key, and the calls.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ctl/client/client.h"
#include "odyssey/supervisor/v1/changes.stub.h"

namespace odyssey::ctl {

// What a list has said, all of it.
struct ChangeSet {
  std::vector<supervisor::v1::Change> changes;
  supervisor::v1::ListChangesEnd end;
};

class ChangesClient final {
 public:
  using Selections = std::vector<supervisor::v1::ChangeSelection>;

  // `word` is a session's id, a cell's, or the NAME of exec --cell NAME.
  static Result<ChangesClient> Connect(const std::string& word, const Locations& locations,
                                       Failure* failure);
  // Of a cell whose supervisor is connected already.
  ChangesClient(Client client, supervisor::v1::CellKey key, std::string name);

  // Diff shows what differs from this session or cell, named as for Connect.
  Status SetAgainst(const std::string& word, Failure* failure);

  // List and Diff show what the cell changed in its root, which is an image.
  void SetRoot(bool root) { root_ = root; }

  const std::string& name() const { return name_; }
  const supervisor::v1::CellKey& key() const { return key_; }
  const supervisor::v1::ChangesStub& stub() const { return stub_; }
  Failure Explain(const std::string& what, const Status& status) const {
    return client_.Explain(what + " " + name_, status);
  }

  Status List(const Selections& selections, ChangeSet* out) const;
  Status Diff(const Selections& selections, uint64_t max_bytes, std::string* text,
              bool* truncated) const;
  Status Commit(const Selections& selections, const std::string& digest,
                supervisor::v1::CommitChangesResponse* response) const;
  Status Discard(const Selections& selections,
                 supervisor::v1::DiscardChangesResponse* response) const;

 private:
  Client client_;
  supervisor::v1::ChangesStub stub_;
  supervisor::v1::CellKey key_;
  std::optional<supervisor::v1::CellKey> against_;
  bool root_ = false;
  std::string name_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CHANGES_CHANGES_CLIENT_H_
