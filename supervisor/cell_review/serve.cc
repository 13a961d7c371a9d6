#include "supervisor/cell_review/serve.h"

#include <algorithm>
#include <vector>

#include "common/base/sha256.h"
#include "supervisor/cell_review/commit.h"
#include "supervisor/cell_review/compare.h"
#include "supervisor/cell_review/diff_text.h"
#include "supervisor/cell_review/discard.h"
#include "supervisor/cell_review/fork.h"
#include "supervisor/cell_review/journal.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::cell_review {
namespace {

using review::End;
using review::Item;
using review::ItemKind;
using review::Op;
using review::Request;

constexpr char kTruncated[] =
    "there are more changes than one list holds: name some of them, or directories";

class Answer final {
 public:
  Answer(int socket, const review::Setup& setup, std::string place)
      : socket_(socket), setup_(setup), place_(std::move(place)) {}

  Status To(const Request& request) {
    const Status status = Do(request);
    if (status.code() == Code::kUnavailable) return status;  // the peer is gone
    end_.code = status.code();
    end_.error = status.message();
    if (request.op == Op::kList) end_.digest = Sha256Hex(digests_);
    return tool::WriteFrame(socket_, review::Encode(end_));
  }

 private:
  Status Do(const Request& request) {
    switch (request.op) {
      case Op::kFork:
        return Fork();
      case Op::kCompare:
        return Compare(request);
      default:
        return Directories(request);
    }
  }

  Status Fork() {
    ODY_RETURN_IF_ERROR(CheckEmpty(place_ + "/to"));
    end_.done = 1;
    return CopyTree(place_ + "/from", place_ + "/to");
  }

  // Of a commit that was cut off each file is old or new, which is what both cells see.
  Status Compare(const Request& request) {
    for (uint32_t i = 0; i < setup_.directories; ++i) {
      const auto selections = SelectionsOf(i, request.selections);
      if (!request.selections.empty() && selections.empty()) continue;
      ODY_ASSIGN_OR_RETURN(Compared layers, OpenCompared(place_ + "/" + std::to_string(i)));
      ODY_RETURN_IF_ERROR(cell_review::Compare(&layers, selections, [&](const std::string& text) {
        return SendText(text, request.max_bytes);
      }));
    }
    return OkStatus();
  }

  Status Directories(const Request& request) {
    std::vector<Reviewed> all;
    for (uint32_t i = 0; i < setup_.directories; ++i) {
      ODY_ASSIGN_OR_RETURN(Reviewed reviewed, Open(i));
      if (setup_.write_host) {
        ODY_RETURN_IF_ERROR(Recover(&reviewed));
      } else {
        ODY_ASSIGN_OR_RETURN(const bool cut_off, IsCutOff(&reviewed));
        end_.unfinished = end_.unfinished || cut_off;
      }
      all.push_back(std::move(reviewed));
    }
    if (end_.unfinished) return OkStatus();
    if (request.op == Op::kCommit) return Commit(request, &all);
    if (request.op == Op::kUndo) return Undo(request.commits, &all);
    for (uint32_t i = 0; i < all.size(); ++i) {
      ODY_RETURN_IF_ERROR(One(request, i, &all[i]));
    }
    return OkStatus();
  }

  Result<Reviewed> Open(uint32_t i) const {
    const std::string at = place_ + "/" + std::to_string(i);
    return OpenReviewed(at, setup_.image ? "/" : at + "/host");
  }

  Status One(const Request& request, uint32_t i, Reviewed* reviewed) {
    switch (request.op) {
      case Op::kLog:
        return Log(reviewed);
      case Op::kSettle:
        return Settle(reviewed, review::kMaxChanges);
      default:
        break;
    }
    const auto selections = SelectionsOf(i, request.selections);
    if (!request.selections.empty() && selections.empty()) return OkStatus();
    ODY_ASSIGN_OR_RETURN(ChangeList list,
                         ListChanges(reviewed, i, selections, request.max_changes));
    if (setup_.image) ForImage(setup_.leave_out, &list);
    if (request.op == Op::kList) return List(list);
    if (request.op == Op::kDiff) return Diff(reviewed, list, request.max_bytes);
    ODY_ASSIGN_OR_RETURN(const Outcome outcome, DiscardChanges(reviewed, list, selections));
    ODY_RETURN_IF_ERROR(Tell(i, outcome));
    return RefuseUnmatched(i, list);
  }

  Status Send(const Item& item) { return tool::WriteFrame(socket_, review::Encode(item)); }

  Status List(const ChangeList& list) {
    for (const Listed& listed : list.changes) {
      ODY_RETURN_IF_ERROR(Send({.kind = ItemKind::kChange, .change = listed.change}));
    }
    const review::Counts& counts = list.counts;
    end_.counts.added += counts.added;
    end_.counts.modified += counts.modified;
    end_.counts.deleted += counts.deleted;
    end_.counts.renamed += counts.renamed;
    end_.counts.other += counts.other;
    end_.counts.marked += counts.marked;
    end_.counts.conflicts += counts.conflicts;
    end_.truncated = end_.truncated || list.truncated;
    end_.stale += list.stale;
    digests_ += list.digest;
    return OkStatus();
  }

  Status Diff(Reviewed* reviewed, const ChangeList& list, uint64_t max_bytes) {
    end_.truncated = end_.truncated || list.truncated;
    for (const Listed& listed : list.changes) {
      const Found& found = listed.found;
      ODY_RETURN_IF_ERROR(SendText(
          DiffText({&reviewed->host, found.host}, {&reviewed->upper, found.upper}, listed.change),
          max_bytes));
      if (sent_ >= max_bytes) return OkStatus();
    }
    return OkStatus();
  }

  // What is more than `max_bytes` in all is left out.
  Status SendText(std::string text, uint64_t max_bytes) {
    if (sent_ + text.size() > max_bytes) {
      text.resize(max_bytes - sent_);
      end_.truncated = true;
    }
    sent_ += text.size();
    for (size_t at = 0; at < text.size(); at += review::kMaxText) {
      ODY_RETURN_IF_ERROR(
          Send({.kind = ItemKind::kText, .text = text.substr(at, review::kMaxText)}));
    }
    return OkStatus();
  }

  // All of the directories are looked at before the first is written to.
  Status Commit(const Request& request, std::vector<Reviewed>* all) {
    std::vector<ChangeList> lists;
    std::string digests;
    for (uint32_t i = 0; i < all->size(); ++i) {
      const auto selections = SelectionsOf(i, request.selections);
      const bool none = !request.selections.empty() && selections.empty();
      ChangeList list;
      if (!none) {
        ODY_ASSIGN_OR_RETURN(list, ListChanges(&(*all)[i], i, selections, request.max_changes));
        if (list.truncated) return FailedPrecondition(kTruncated);
        digests += list.digest;
      }
      lists.push_back(std::move(list));
    }
    if (!request.expected.empty() && request.expected != Sha256Hex(digests)) {
      return Status(Code::kAborted,
                    "digest: the changes are no longer those that were looked at: list them again");
    }
    ODY_ASSIGN_OR_RETURN(const uint64_t newest, Newest(all));
    for (uint32_t i = 0; i < all->size(); ++i) {
      ODY_ASSIGN_OR_RETURN(
          const Outcome outcome,
          CommitChanges(&(*all)[i], newest + 1, lists[i], SelectionsOf(i, request.selections)));
      ODY_RETURN_IF_ERROR(Tell(i, outcome));
      ODY_RETURN_IF_ERROR(RefuseUnmatched(i, lists[i]));
    }
    return OkStatus();
  }

  static Result<uint64_t> Newest(std::vector<Reviewed>* all) {
    uint64_t newest = 0;
    for (Reviewed& reviewed : *all) {
      ODY_ASSIGN_OR_RETURN(const uint64_t number, NewestCommit(&reviewed));
      newest = std::max(newest, number);
    }
    return newest;
  }

  // A commit has the same number in each directory that it wrote to.
  Status Undo(uint32_t commits, std::vector<Reviewed>* all) {
    for (; commits > 0; --commits) {
      ODY_ASSIGN_OR_RETURN(const uint64_t newest, Newest(all));
      if (newest == 0) break;
      for (uint32_t i = 0; i < all->size(); ++i) {
        ODY_ASSIGN_OR_RETURN(const Outcome outcome, UndoCommit(&(*all)[i], newest));
        ODY_RETURN_IF_ERROR(Tell(i, outcome));
      }
      ++end_.commits;
    }
    return OkStatus();
  }

  Status Log(Reviewed* reviewed) {
    ODY_ASSIGN_OR_RETURN(Journal journal, Journal::Open(&reviewed->store));
    for (const Entry& entry : journal.entries()) {
      ODY_ASSIGN_OR_RETURN(const Record record, journal.Load(entry));
      ODY_RETURN_IF_ERROR(Send({.kind = ItemKind::kCommit,
                                .number = record.number,
                                .time = record.time,
                                .count = static_cast<uint32_t>(record.operations.size())}));
    }
    return OkStatus();
  }

  Status Tell(uint32_t directory, const Outcome& outcome) {
    end_.commit = std::max(end_.commit, outcome.commit);
    end_.done += outcome.done;
    for (const Refused& refused : outcome.refused) ODY_RETURN_IF_ERROR(Refuse(directory, refused));
    return OkStatus();
  }

  Status RefuseUnmatched(uint32_t directory, const ChangeList& list) {
    for (const std::string& path : list.unmatched) {
      ODY_RETURN_IF_ERROR(Refuse(directory, {path, "the cell changed nothing there", ""}));
    }
    return OkStatus();
  }

  Status Refuse(uint32_t directory, const Refused& refused) {
    Item item = {.kind = ItemKind::kRefused, .text = refused.why};
    item.change.directory = directory;
    item.change.path = refused.path;
    item.change.mark = refused.mark;
    return Send(item);
  }

  const int socket_;
  const review::Setup& setup_;
  const std::string place_;
  End end_;
  std::string digests_;
  uint64_t sent_ = 0;  // bytes of text
};

}  // namespace

Status Serve(int socket, const review::Setup& setup, const std::string& place) {
  for (;;) {
    const Result<std::string> frame = tool::ReadFrame(socket);
    if (frame.status().code() == Code::kUnavailable) return OkStatus();
    ODY_RETURN_IF_ERROR(frame.status());
    Request request;
    ODY_RETURN_IF_ERROR(review::Decode(*frame, &request));
    ODY_RETURN_IF_ERROR(Answer(socket, setup, place).To(request));
  }
}

}  // namespace odyssey::cell_review
