#include "policy/answer/answer.h"

#include <errno.h>

#include <functional>
#include <utility>

#include "common/base/refusal.h"
#include "policy/answer/path_answer.h"
#include "policy/ceiling/ownership.h"
#include "policy/compile/danger.h"
#include "policy/compile/launch_failure.h"
#include "policy/plan/plan_check.h"

namespace odyssey::answer {
namespace {

using Rulings = std::vector<ceiling::Ruling>;

Verdict VerdictOf(const Status& refusal) {
  if (refusal.ok()) return Verdict::kAllow;
  const bool invalid =
      refusal.code() == Code::kInvalidArgument || refusal.code() == Code::kNotFound;
  return invalid ? Verdict::kInvalid : Verdict::kDeny;
}

// A variable has the value of a secret, whatever the request calls it.
Status CheckSources(const Question& question, const Under& under) {
  for (const auto& [target, source] : question.env_sources) {
    ODY_RETURN_IF_ERROR(
        ceiling::JudgeEnv(under.ceiling, "env." + target, source, under.asker.owner).status());
  }
  return OkStatus();
}

// What root would refuse to show of a plan, because it is another user's or closed to the cell's
// (plan::Entry::owner), as far as the asker saw it.
Status CheckOwners(const plan::Plan& plan, const std::map<std::string, Seen>& seen) {
  for (size_t i = 0; i < plan.entries.size(); ++i) {
    const plan::Entry& entry = plan.entries[i];
    if (entry.kind != plan::EntryKind::kHostTree || entry.owner == plan::kAnyOwner) continue;
    const auto found = seen.find(entry.source);
    if (found == seen.end() || found->second.kind == compile::PlaceKind::kMissing) continue;
    const Seen& place = found->second;
    const Status shown = place.closed ? ErrnoStatus(EACCES, "open " + entry.source)
                                      : ceiling::CheckOwner(entry, place.uid, place.mode);
    if (!shown.ok()) return shown.OfItem(i);
  }
  return OkStatus();
}

// As PrepareCell compiles it, with what root would say of the places that were seen.
Result<compile::Compiled> CompileSeen(policy::SandboxRequest request, const Question& question,
                                      const Under& under, const Host& host) {
  ceiling::FillLimits(under.ceiling, request.ephemeral, &request.limits);
  compile::HostFacts facts = host.facts;
  for (const auto& [path, place] : question.seen) facts.places[path] = place.kind;
  const ceiling::Owner& owner = under.asker.owner;
  ODY_ASSIGN_OR_RETURN(const compile::FoundExecutables found, FindFor(request, host.finder));
  ODY_ASSIGN_OR_RETURN(const compile::FoundImage image,
                       FindImageFor(request, owner.uid, host.find_image));
  ODY_ASSIGN_OR_RETURN(compile::Compiled compiled, CompileFor(request, owner, facts, found, image));
  if (compiled.unconfined) return compiled;
  ODY_ASSIGN_OR_RETURN(const auto outright,
                       ceiling::GrantedOutright(under.ceiling, request, under.asker));
  ceiling::SetOwners(under.asker, outright, &compiled.plan);
  ODY_RETURN_IF_ERROR(compile::NameField(request, compiled.plan, owner.uid,
                                         CheckOwners(compiled.plan, question.seen)));
  return compiled;
}

// By which rule of the ceiling something may, of those that `concerns` is true of: the one of the
// nearest place.
std::string GrantedBy(const Rulings& rulings,
                      const std::function<bool(const ceiling::Ruling&)>& concerns) {
  const ceiling::Ruling* best = nullptr;
  for (const ceiling::Ruling& ruling : rulings) {
    if (!concerns(ruling)) continue;
    if (best == nullptr || ruling.value.size() > best->value.size()) best = &ruling;
  }
  return best == nullptr ? "" : ", granted by " + ceiling::ToString(best->origin);
}

void AnswerPath(const explain::Cell& cell, const Question& question, const Host& host,
                const Rulings& rulings, Answer* out) {
  if (!plan::IsNormalizedAbsolute(question.path)) {
    out->verdict = Verdict::kInvalid;
    out->refusal = Refused(Code::kInvalidArgument, "path", question.path,
                           "an absolute path of the host, without . or .., is allowed");
    return;
  }
  const explain::ReadLink read_link = [&](const std::string& path) {
    const auto known = question.links.find(path);
    if (known != question.links.end()) return std::optional<std::string>(known->second);
    return host.read_link ? host.read_link(path) : std::nullopt;
  };
  const PathAnswer found = DecidePath(cell, read_link, question.path);
  out->verdict = found.allowed ? Verdict::kAllow : Verdict::kDeny;
  out->rule = found.rule;
  out->reason = found.reason;
  out->grant = found.grant;
  out->host_path = found.host;
  out->through_link = found.through_link;
  if (!found.allowed) return;
  out->rule += GrantedBy(rulings, [&](const ceiling::Ruling& ruling) {
    return !found.host.empty() && plan::IsWithin(found.host, ruling.value);
  });
}

// A request for endpoints gets no cell, so that there are two networks.
void AnswerNetwork(const policy::SandboxRequest& request, const Rulings& rulings, Answer* out) {
  if (request.network == policy::Network::kFull) {
    out->rule = "network full" + GrantedBy(rulings, [](const ceiling::Ruling& ruling) {
                  return ruling.key == "network";
                });
    out->reason = "the host's network: every address that it reaches";
    return;
  }
  out->verdict = Verdict::kDeny;
  out->rule = "network none";
  out->reason = "the cell has a loopback of its own and no other network";
}

void Refuse(const char* rule, const Status& refusal, Answer* out) {
  if (!out->refusal.ok()) return;  // the first is told
  out->refusal = refusal;
  out->verdict = VerdictOf(refusal);
  out->rule = rule;
  out->reason = refusal.message();
}

}  // namespace

CeilingText DescribeCeiling(const std::string& directory, const ceiling::Ceiling& ceiling) {
  return {directory, ceiling == ceiling::BuiltIn(), ceiling::Digest(ceiling),
          ceiling::Describe(ceiling), ceiling.images.odek_default.text};
}

Result<compile::FoundExecutables> FindFor(const policy::SandboxRequest& request,
                                          executables::Finder* finder) {
  const bool has_image = !request.image.reference.empty();
  if (policy::IsDanger(request) || has_image) return compile::FoundExecutables();
  return finder->Find(compile::SystemExecutables(request));
}

Result<compile::Compiled> CompileFor(const policy::SandboxRequest& request,
                                     const ceiling::Owner& owner, const compile::HostFacts& facts,
                                     const compile::FoundExecutables& found,
                                     const compile::FoundImage& image) {
  if (policy::IsDanger(request)) {
    return compile::CompileDanger(request, {owner.uid, owner.name, owner.home}, facts.check);
  }
  return compile::Compile(request, facts, found, image);
}

Result<compile::FoundImage> FindImageFor(const policy::SandboxRequest& request, uint32_t owner_uid,
                                         const compile::FindImage& find) {
  if (request.image.reference.empty()) return compile::FoundImage();
  if (find) return find(request.image, compile::SystemExecutables(request), owner_uid);
  compile::FoundImage unknown = {.digest = "not looked up", .layers = {"0"}};
  unknown.programs.notes = {"the image's programs were not looked up"};
  return unknown;
}

Answer Decide(const Question& question, const Under& under, const Host& host) {
  Answer out;
  out.ceiling = DescribeCeiling(under.directory, under.ceiling);
  const policy::SandboxRequest& request = question.request;
  const bool danger = policy::IsDanger(request);
  if (const Status sources = CheckSources(question, under); !sources.ok()) {
    Refuse(kByCeiling, sources, &out);
    return out;
  }
  Rulings rulings;
  if (auto judged = ceiling::Judge(under.ceiling, request, under.asker); judged.ok()) {
    rulings = *std::move(judged);
  } else {
    Refuse(kByCeiling, judged.status(), &out);
    // What it would be on the host is answered even where it is refused.
    if (!danger || under.asker.owner.uid == 0) return out;
  }
  for (const ceiling::Ruling& ruling : rulings) {
    out.granted.push_back({ruling.key, ruling.value, ceiling::ToString(ruling.origin)});
  }
  const Result<compile::Compiled> compiled = CompileSeen(request, question, under, host);
  if (!compiled.ok()) {
    Refuse(kByCompiler, compiled.status(), &out);
    return out;
  }
  out.digest = compiled->digest;
  out.plan = compiled->explanation;
  if (!out.refusal.ok()) return out;
  switch (question.about) {
    case About::kPath:
      AnswerPath({request, *compiled}, question, host, rulings, &out);
      break;
    case About::kNetwork:
      AnswerNetwork(request, rulings, &out);
      break;
    case About::kCell:
      break;
  }
  return out;
}

}  // namespace odyssey::answer
