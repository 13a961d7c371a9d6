#include "supervisor/rpc/changes_service.h"

#include <algorithm>
#include <filesystem>

#include "common/base/refusal.h"
#include "common/base/time_text.h"
#include "common/base/utf8.h"
#include "common/rpc/status_map.h"
#include "policy/plan/plan_check.h"
#include "supervisor/rpc/audit_records.h"
#include "supervisor/rpc/convert.h"

namespace odyssey::supervisor {
namespace {

using compile::ReviewedDirectory;
using compile::ReviewWrites;
using review::Item;
using review::ItemKind;

constexpr uint32_t kMaxChanges = 10'000;
constexpr uint64_t kDefaultDiff = uint64_t{1} << 20;
constexpr uint64_t kMaxDiff = uint64_t{16} << 20;

// The words of the client's path that are below `directory`; nothing if it lies elsewhere.
std::optional<std::string> Below(const std::string& path, const std::string& directory) {
  if (!plan::IsWithin(path, directory)) return std::nullopt;
  return path.size() == directory.size() ? "" : path.substr(directory.size() + 1);
}

// Without ".", ".." and a slash at the end. No link is looked at: a change is of the path itself.
std::string Normal(const std::string& path) {
  std::string out = std::filesystem::path(path).lexically_normal();
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

// What a review cell takes.
template <typename Selections>
Status CheckBounds(const Selections& selections) {
  const auto most = [](const std::string& what, size_t is, size_t allowed) {
    if (is <= allowed) return OkStatus();
    return InvalidArgument(what + ": " + std::to_string(is) + "; at most " +
                           std::to_string(allowed) + " are allowed");
  };
  ODY_RETURN_IF_ERROR(
      most("selections", static_cast<size_t>(selections.size()), review::kMaxSelections));
  for (int i = 0; i < selections.size(); ++i) {
    const std::string field = "selections[" + std::to_string(i) + "]";
    ODY_RETURN_IF_ERROR(
        most(field + ".path: bytes", selections[i].path().size(), review::kMaxPath));
    ODY_RETURN_IF_ERROR(
        most(field + ".hunks", static_cast<size_t>(selections[i].hunks_size()), review::kMaxHunks));
  }
  return OkStatus();
}

// As the cell or the host knows the path; relative to the workspace, or to the only directory.
Result<review::Selection> FromProto(const v1::ChangeSelection& selection, size_t index,
                                    const std::vector<ReviewedDirectory>& directories) {
  const std::string& path = selection.path();
  std::vector<std::string> meant = {Normal(path)};
  if (path.empty() || path[0] != '/') {
    meant = {Normal(plan::kWorkspacePath + ("/" + path))};
    if (directories.size() == 1) meant.push_back(Normal(directories[0].target + "/" + path));
  }
  review::Selection out = {.marked = selection.marked(),
                           .hunks = {selection.hunks().begin(), selection.hunks().end()}};
  for (const std::string& one : meant) {
    for (const bool in_cell : {true, false}) {
      for (uint32_t i = 0; i < directories.size(); ++i) {
        const auto below = Below(one, in_cell ? directories[i].target : directories[i].source);
        if (!below) continue;
        out.directory = i;
        out.path = *below;
        return out;
      }
    }
  }
  std::string all;
  for (const ReviewedDirectory& directory : directories) {
    all += (all.empty() ? "" : ", ") + directory.target;
  }
  return InvalidArgument("selections[" + std::to_string(index) + "].path: " + selection.path() +
                         ": not in a reviewed directory; these are: " + all);
}

template <typename Selections>
Result<std::vector<review::Selection>> FromProto(
    const Selections& selections, const std::vector<ReviewedDirectory>& directories) {
  ODY_RETURN_IF_ERROR(CheckBounds(selections));
  std::vector<review::Selection> out;
  for (int i = 0; i < selections.size(); ++i) {
    ODY_ASSIGN_OR_RETURN(out.emplace_back(),
                         FromProto(selections[i], static_cast<size_t>(i), directories));
  }
  return out;
}

std::string In(const std::string& directory, const std::string& path) {
  return SanitizeUtf8(path.empty() ? directory : directory + "/" + path);
}

v1::ChangeKind ToProto(review::ChangeKind kind) {
  switch (kind) {
    case review::ChangeKind::kAdded:
      return v1::CHANGE_KIND_ADDED;
    case review::ChangeKind::kModified:
      return v1::CHANGE_KIND_MODIFIED;
    case review::ChangeKind::kDeleted:
      return v1::CHANGE_KIND_DELETED;
    case review::ChangeKind::kRenamed:
      return v1::CHANGE_KIND_RENAMED;
    case review::ChangeKind::kMode:
      return v1::CHANGE_KIND_MODE;
    case review::ChangeKind::kLink:
      return v1::CHANGE_KIND_LINK;
    case review::ChangeKind::kType:
      return v1::CHANGE_KIND_TYPE;
  }
  return v1::CHANGE_KIND_UNSPECIFIED;
}

void ToProto(const review::Change& change, const ReviewedDirectory& directory, v1::Change* out) {
  out->set_kind(ToProto(change.kind));
  out->set_path(In(directory.target, change.path));
  if (!directory.source.empty()) out->set_host_path(In(directory.source, change.path));
  if (!change.from.empty()) out->set_from(In(directory.target, change.from));
  out->set_old_mode(change.old_mode);
  out->set_new_mode(change.new_mode);
  out->set_old_size(change.old_size);
  out->set_new_size(change.new_size);
  out->set_binary(change.binary);
  out->set_mark(SanitizeUtf8(change.mark));
  out->set_conflict(SanitizeUtf8(change.conflict));
}

void ToProto(const review::Counts& counts, v1::ChangeCounts* out) {
  out->set_added(counts.added);
  out->set_modified(counts.modified);
  out->set_deleted(counts.deleted);
  out->set_renamed(counts.renamed);
  out->set_other(counts.other);
  out->set_marked(counts.marked);
  out->set_conflicts(counts.conflicts);
}

// Puts what is refused into a response.
template <typename Refused>
ReviewCell::Take TakeRefused(const std::vector<ReviewedDirectory>& directories, Refused* out) {
  return [&directories, out](const Item& item) {
    if (item.kind != ItemKind::kRefused || item.change.directory >= directories.size()) {
      return InvalidArgument("the review cell said something else");
    }
    v1::RefusedChange* refused = out->Add();
    refused->set_path(In(directories[item.change.directory].target, item.change.path));
    refused->set_reason(SanitizeUtf8(item.text));
    refused->set_marked(!item.change.mark.empty());
    return OkStatus();
  };
}

// Paths of the cell, of whose root the list is.
template <typename Selections>
Result<std::vector<review::Selection>> OfRoot(const Selections& selections) {
  ODY_RETURN_IF_ERROR(CheckBounds(selections));
  std::vector<review::Selection> out;
  for (const v1::ChangeSelection& selection : selections) {
    out.push_back({.path = Normal("/" + selection.path()).substr(1)});
  }
  return out;
}

// The answer to ListChanges, as it comes from a review cell. A root has one directory, without
// names.
class SentList final {
 public:
  SentList(const std::vector<ReviewedDirectory>& directories, uint32_t max,
           grpc::ServerWriter<v1::ListChangesResponse>* writer)
      : directories_(directories),
        max_(max == 0 ? kMaxChanges : std::min(max, kMaxChanges)),
        writer_(writer) {}

  Status Take(const Item& item) {
    if (item.change.directory >= directories_.size()) {
      return InvalidArgument("the review cell named a directory that it does not have");
    }
    if (sent_ == max_) return OkStatus();
    ++sent_;
    v1::ListChangesResponse response;
    ToProto(item.change, directories_[item.change.directory], response.mutable_change());
    return writer_->Write(response) ? OkStatus() : Cancelled("the client is gone");
  }

  void Finish(const review::End& end, const std::string& digest, const std::string& image) {
    v1::ListChangesResponse last;
    ToProto(end.counts, last.mutable_end()->mutable_counts());
    const review::Counts& counts = end.counts;
    const uint64_t all =
        uint64_t{counts.added} + counts.modified + counts.deleted + counts.renamed + counts.other;
    last.mutable_end()->set_truncated(end.truncated || sent_ < all);
    last.mutable_end()->set_digest(digest);
    last.mutable_end()->set_image(image);
    writer_->Write(last);
  }

 private:
  const std::vector<ReviewedDirectory>& directories_;
  const uint32_t max_;
  grpc::ServerWriter<v1::ListChangesResponse>* const writer_;
  uint32_t sent_ = 0;
};

CellKey FromProto(const v1::CellKey& key) {
  return {key.session_id(), key.agent_id(), key.kind(), key.component()};
}

Status CheckForkKey(const std::string& field, const CellKey& key) {
  const Status status = CheckCellKey(key);
  return status.ok() ? status : Status(status.code(), field + ": " + status.message());
}

}  // namespace

Result<ChangesService::Subject> ChangesService::Find(const v1::CellKey& key) {
  ODY_ASSIGN_OR_RETURN(const v1::PrepareCellRequest request, reviewed_->Find(key));
  Subject subject;
  ODY_ASSIGN_OR_RETURN(subject.spec, supervisor::FromProto(request));
  ODY_ASSIGN_OR_RETURN(subject.plan, broker_->PlanOf(subject.spec));
  subject.directories = compile::ReviewedDirectories(subject.plan);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<std::mutex>& turn = turns_[subject.plan.cell_tree];
  if (turn == nullptr) turn = std::make_shared<std::mutex>();
  subject.turn = turn;
  return subject;
}

Result<review::End> ChangesService::AskOnce(const Subject& subject, ReviewWrites writes,
                                            const review::Request& request,
                                            const ReviewCell::Take& take) {
  const review::Setup setup = {.directories = static_cast<uint32_t>(subject.directories.size()),
                               .write_host = writes == ReviewWrites::kHost,
                               .write_upper = writes == ReviewWrites::kUpper};
  ODY_ASSIGN_OR_RETURN(const std::unique_ptr<ReviewCell> cell,
                       ReviewCell::Start(broker_->loop(), broker_->root(),
                                         compile::ReviewPlan(subject.plan, writes), setup));
  return cell->Ask(request, take);
}

Result<review::End> ChangesService::Ask(const Subject& subject, ReviewWrites writes,
                                        const review::Request& request,
                                        const ReviewCell::Take& take) {
  // A disk of the cell's own is mounted once at a time.
  if (subject.plan.disk_bytes != 0) ODY_RETURN_IF_ERROR(broker_->HoldKey(subject.spec.key));
  Result<review::End> end = AskOnce(subject, writes, request, take);
  if (end.ok() && end->unfinished) {
    const review::Request recover = {.op = review::Op::kUndo, .commits = 0};
    end = AskOnce(subject, ReviewWrites::kHost, recover, take);
    if (StatusOf(end).ok()) end = AskOnce(subject, writes, request, take);
  }
  if (subject.plan.disk_bytes != 0) broker_->ReleaseKey(subject.spec.key);
  const Status status = StatusOf(end);
  if (!status.ok()) return status;
  return end;
}

Result<review::End> ChangesService::AskAlone(const Subject& subject, const review::Request& request,
                                             const ReviewCell::Take& take) {
  if (subject.plan.disk_bytes != 0) return Ask(subject, ReviewWrites::kUpper, request, take);
  ODY_RETURN_IF_ERROR(broker_->HoldKey(subject.spec.key));
  Result<review::End> end = Ask(subject, ReviewWrites::kUpper, request, take);
  broker_->ReleaseKey(subject.spec.key);
  return end;
}

Result<review::End> ChangesService::Compare(const Subject& subject, const v1::CellKey& against,
                                            const review::Request& request,
                                            const ReviewCell::Take& take) {
  if (FromProto(against) == subject.spec.key) {
    return InvalidArgument("against: is the key of the cell itself");
  }
  const auto other = Find(against);
  if (!other.ok()) {
    return Refused(other.status().code(), "against", "", WhyRefused(other.status()));
  }
  ODY_ASSIGN_OR_RETURN(const plan::Plan plan, compile::ComparePlan(subject.plan, other->plan));
  const std::scoped_lock turns(*subject.turn, *other->turn);
  const review::Setup setup = {.directories = static_cast<uint32_t>(subject.directories.size())};
  ODY_ASSIGN_OR_RETURN(const std::unique_ptr<ReviewCell> cell,
                       ReviewCell::Start(broker_->loop(), broker_->root(), plan, setup));
  Result<review::End> end = cell->Ask(request, take);
  ODY_RETURN_IF_ERROR(StatusOf(end));
  return end;
}

void ChangesService::Record(const char* what, const Subject& subject, const review::End& end,
                            uint64_t refused) {
  std::vector<std::string> directories;
  for (const ReviewedDirectory& directory : subject.directories) {
    directories.push_back(directory.source);
  }
  broker_->audit()->Add(ChangesRecord(what, subject.spec.key, subject.spec.owner_uid, directories,
                                      end.done, refused));
}

grpc::Status ChangesService::ListReviewed(grpc::ServerContext*, const v1::ListReviewedRequest*,
                                          v1::ListReviewedResponse* response) {
  for (const v1::PrepareCellRequest& request : reviewed_->All()) {
    v1::ReviewedCell* cell = response->add_cells();
    *cell->mutable_key() = request.key();
    cell->set_owner_uid(request.owner_uid());
    const auto subject = Find(request.key());
    if (!subject.ok()) continue;
    cell->set_live(broker_->IsLive(subject->spec.key));
    for (const ReviewedDirectory& directory : subject->directories) {
      cell->add_directories(SanitizeUtf8(directory.source));
    }
  }
  return grpc::Status::OK;
}

// ── Lists and diffs ─────────────────────────────────────────────────────────────────────────────

grpc::Status ChangesService::ListChanges(grpc::ServerContext*,
                                         const v1::ListChangesRequest* request,
                                         grpc::ServerWriter<v1::ListChangesResponse>* writer) {
  return rpc::ToGrpc(request->root() ? ListRoot(*request, writer)
                                     : ListDirectories(*request, writer));
}

Status ChangesService::ListDirectories(const v1::ListChangesRequest& request,
                                       grpc::ServerWriter<v1::ListChangesResponse>* writer) {
  const Result<Subject> found = Find(request.key());
  const std::string image = root_.ImageOf(FromProto(request.key()));
  if (found.status().code() == Code::kNotFound && !image.empty() && request.selections().empty()) {
    const std::vector<ReviewedDirectory> none;
    SentList(none, 0, writer).Finish({}, "", image);
    return OkStatus();
  }
  ODY_RETURN_IF_ERROR(found.status());
  const Subject& subject = *found;
  ODY_ASSIGN_OR_RETURN(const auto selections, FromProto(request.selections(), subject.directories));
  const std::lock_guard turn(*subject.turn);
  SentList list(subject.directories, request.max_changes(), writer);
  ODY_ASSIGN_OR_RETURN(
      const review::End end,
      Ask(subject, ReviewWrites::kStore, {.op = review::Op::kList, .selections = selections},
          [&](const Item& item) { return list.Take(item); }));
  list.Finish(end, end.digest, subject.plan.disk_bytes == 0 ? image : "");
  // So that the cell sees what the host has made of it; where commands run, at a later call.
  if (end.stale != 0) {
    (void)AskAlone(subject, {.op = review::Op::kSettle}, [](const Item&) { return OkStatus(); });
  }
  return OkStatus();
}

Status ChangesService::ListRoot(const v1::ListChangesRequest& request,
                                grpc::ServerWriter<v1::ListChangesResponse>* writer) {
  const CellKey key = FromProto(request.key());
  const std::vector<ReviewedDirectory> root(1);
  SentList list(root, request.max_changes(), writer);
  ODY_ASSIGN_OR_RETURN(const auto selections, OfRoot(request.selections()));
  ODY_ASSIGN_OR_RETURN(const review::End end,
                       root_.Ask(key, {.op = review::Op::kList, .selections = selections},
                                 [&](const Item& item) { return list.Take(item); }));
  list.Finish(end, "", root_.ImageOf(key));
  return OkStatus();
}

grpc::Status ChangesService::DiffChanges(grpc::ServerContext*,
                                         const v1::DiffChangesRequest* request,
                                         grpc::ServerWriter<v1::DiffChangesResponse>* writer) {
  const auto end = Diff(*request, [&](const Item& item) {
    v1::DiffChangesResponse response;
    response.set_text(item.text);
    return writer->Write(response) ? OkStatus() : Cancelled("the client is gone");
  });
  if (!end.ok()) return rpc::ToGrpc(end.status());
  v1::DiffChangesResponse last;
  last.set_truncated(end->truncated);
  writer->Write(last);
  return grpc::Status::OK;
}

Result<review::End> ChangesService::Diff(const v1::DiffChangesRequest& request,
                                         const ReviewCell::Take& take) {
  const uint64_t asked = request.max_bytes() == 0 ? kDefaultDiff : request.max_bytes();
  review::Request ask = {.op = review::Op::kDiff, .max_bytes = std::min(asked, kMaxDiff)};
  if (request.root()) {
    if (request.has_against()) {
      return Refused(Code::kInvalidArgument, "against", "", "not with root");
    }
    ODY_ASSIGN_OR_RETURN(ask.selections, OfRoot(request.selections()));
    return root_.Ask(FromProto(request.key()), ask, take);
  }
  ODY_ASSIGN_OR_RETURN(const Subject subject, Find(request.key()));
  ODY_ASSIGN_OR_RETURN(ask.selections, FromProto(request.selections(), subject.directories));
  if (request.has_against()) {
    ask.op = review::Op::kCompare;
    return Compare(subject, request.against(), ask, take);
  }
  const std::lock_guard turn(*subject.turn);
  return Ask(subject, ReviewWrites::kStore, ask, take);
}

// ── What writes ─────────────────────────────────────────────────────────────────────────────────

grpc::Status ChangesService::CommitChanges(grpc::ServerContext*,
                                           const v1::CommitChangesRequest* request,
                                           v1::CommitChangesResponse* response) {
  Status status = broker_->audit()->Admit();
  if (!status.ok()) return rpc::ToGrpc(status);
  const auto subject = Find(request->key());
  if (!subject.ok()) return rpc::ToGrpc(subject.status());
  const auto selections = FromProto(request->selections(), subject->directories);
  if (!selections.ok()) return rpc::ToGrpc(selections.status());
  const std::lock_guard turn(*subject->turn);
  const auto end =
      Ask(*subject, ReviewWrites::kHost,
          {.op = review::Op::kCommit, .selections = *selections, .expected = request->digest()},
          TakeRefused(subject->directories, response->mutable_refused()));
  if (!end.ok()) return rpc::ToGrpc(end.status());
  Record("commit", *subject, *end, static_cast<uint64_t>(response->refused_size()));
  response->set_commit(end->commit);
  response->set_committed(end->done);
  return grpc::Status::OK;
}

grpc::Status ChangesService::UndoCommits(grpc::ServerContext*,
                                         const v1::UndoCommitsRequest* request,
                                         v1::UndoCommitsResponse* response) {
  const Status status = broker_->audit()->Admit();
  if (!status.ok()) return rpc::ToGrpc(status);
  const auto subject = Find(request->key());
  if (!subject.ok()) return rpc::ToGrpc(subject.status());
  const std::lock_guard turn(*subject->turn);
  const auto end = Ask(*subject, ReviewWrites::kHost,
                       {.op = review::Op::kUndo, .commits = std::max(request->commits(), 1U)},
                       TakeRefused(subject->directories, response->mutable_refused()));
  if (!end.ok()) return rpc::ToGrpc(end.status());
  if (end->commits == 0) {
    return rpc::ToGrpc(FailedPrecondition("key: there is no commit of this cell to undo"));
  }
  Record("undo", *subject, *end, static_cast<uint64_t>(response->refused_size()));
  response->set_commits(end->commits);
  response->set_restored(end->done);
  return grpc::Status::OK;
}

grpc::Status ChangesService::DiscardChanges(grpc::ServerContext*,
                                            const v1::DiscardChangesRequest* request,
                                            v1::DiscardChangesResponse* response) {
  const Status status = broker_->audit()->Admit();
  if (!status.ok()) return rpc::ToGrpc(status);
  const auto subject = Find(request->key());
  if (!subject.ok()) return rpc::ToGrpc(subject.status());
  const auto selections = FromProto(request->selections(), subject->directories);
  if (!selections.ok()) return rpc::ToGrpc(selections.status());
  const std::lock_guard turn(*subject->turn);
  const auto end = AskAlone(*subject, {.op = review::Op::kDiscard, .selections = *selections},
                            TakeRefused(subject->directories, response->mutable_refused()));
  if (!end.ok()) return rpc::ToGrpc(end.status());
  Record("discard", *subject, *end, static_cast<uint64_t>(response->refused_size()));
  response->set_discarded(end->done);
  return grpc::Status::OK;
}

grpc::Status ChangesService::ListCommits(grpc::ServerContext*,
                                         const v1::ListCommitsRequest* request,
                                         v1::ListCommitsResponse* response) {
  const auto subject = Find(request->key());
  if (!subject.ok()) return rpc::ToGrpc(subject.status());
  const std::lock_guard turn(*subject->turn);
  std::map<uint64_t, v1::Commit, std::greater<>> commits;  // one may be of several directories
  const auto end =
      Ask(*subject, ReviewWrites::kStore, {.op = review::Op::kLog}, [&](const Item& item) {
        v1::Commit& commit = commits[item.number];
        commit.set_commit(item.number);
        commit.set_time(Rfc3339(item.time));
        commit.set_paths(commit.paths() + item.count);
        return OkStatus();
      });
  if (!end.ok()) return rpc::ToGrpc(end.status());
  for (auto& [number, commit] : commits) *response->add_commits() = std::move(commit);
  return grpc::Status::OK;
}

grpc::Status ChangesService::ForkCell(grpc::ServerContext*, const v1::ForkCellRequest* request,
                                      v1::ForkCellResponse*) {
  Status status = broker_->audit()->Admit();
  const CellKey from = FromProto(request->from()), to = FromProto(request->to());
  if (status.ok()) status = CheckForkKey("from", from);
  if (status.ok()) status = CheckForkKey("to", to);
  if (status.ok() && from == to) status = InvalidArgument("to: is the key of the cell itself");
  if (status.ok() && !root_.ImageOf(from).empty()) {
    status = FailedPrecondition(
        "from: the cell's root is an image, and what the cell changed there is not copied: commit "
        "the image, and begin with that");
  }
  if (status.ok()) status = broker_->HoldKey(from);
  if (!status.ok()) return rpc::ToGrpc(status);
  status = broker_->HoldKey(to);
  if (status.ok()) {
    status = CopyCell(from, to, reviewed_->Find(request->from()));
    broker_->ReleaseKey(to);
  }
  broker_->ReleaseKey(from);
  return rpc::ToGrpc(status);
}

Status ChangesService::CopyCell(const CellKey& from, const CellKey& to,
                                const Result<v1::PrepareCellRequest>& known) {
  plan::Plan plan;  // a cell that is not remembered has no disk, or root refuses to open its tree
  Subject subject;
  std::unique_lock<std::mutex> turn;
  if (known.ok()) {
    ODY_ASSIGN_OR_RETURN(subject, Find(known->key()));
    turn = std::unique_lock(*subject.turn);
    plan = subject.plan;
    // Of a commit that was cut off there would be two copies to take it back.
    const review::Setup setup = {.directories = static_cast<uint32_t>(subject.directories.size()),
                                 .write_host = true};
    ODY_ASSIGN_OR_RETURN(const std::unique_ptr<ReviewCell> cell,
                         ReviewCell::Start(broker_->loop(), broker_->root(),
                                           compile::ReviewPlan(plan, ReviewWrites::kHost), setup));
    ODY_RETURN_IF_ERROR(StatusOf(cell->Ask({.op = review::Op::kUndo, .commits = 0},
                                           [](const Item&) { return OkStatus(); })));
  } else if (known.status().code() != Code::kNotFound) {
    return known.status();
  }
  plan.cell_tree = CellTreeOf(to);
  ODY_ASSIGN_OR_RETURN(
      const std::unique_ptr<ReviewCell> cell,
      ReviewCell::Start(broker_->loop(), broker_->root(), compile::ForkPlan(plan, CellTreeOf(from)),
                        {.fork = true}));
  const auto end = cell->Ask({.op = review::Op::kFork}, [](const Item&) { return OkStatus(); });
  const Status copied = StatusOf(end);
  if (!copied.ok()) {
    if (end.ok() && end->done != 0) cell->PurgeAtEnd();
    return copied;
  }
  if (!known.ok()) return OkStatus();
  Record("fork", subject, *end, 0);
  v1::PrepareCellRequest prepare = *known;
  prepare.mutable_key()->set_session_id(to.session_id);
  prepare.mutable_key()->set_agent_id(to.agent_id);
  prepare.mutable_key()->set_kind(to.kind);
  prepare.mutable_key()->set_component(to.component);
  return reviewed_->Remember(prepare);
}

}  // namespace odyssey::supervisor
