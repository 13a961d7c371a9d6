#ifndef ODYSSEY_HTTP_SHAPE_ORIGINAL_H_
#define ODYSSEY_HTTP_SHAPE_ORIGINAL_H_

// Bodies that the original Odyssey's routes have, in our messages (ADR 0067). A request may also
// have the other fields of its message, by their own names. Pure.
//
// Readers: INVALID_ARGUMENT names the field. Writers: the JSON text. Each takes the one message
// type that its route's call has.

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "common/base/status.h"
#include "http/shape/message_body.h"
#include "odyssey/agent/v1/session.pb.h"

namespace odyssey::shape {

using google::protobuf::Message;

// {"bundle_ref",…} → CreateSessionRequest.
Status ReadCreateSession(const Json& body, Message* message);
// {"project_path",…} → BuildBundleRequest.
Status ReadBuildBundle(const Json& body, Message* message);
// {"input":Task,…} → SubmitTurnRequest. Its submission_id makes a second request the same turn.
Status ReadRun(const Json& body, Message* message);
// {"decision":"allow_once",…} → ResolveApprovalRequest.
Status ReadApproval(const Json& body, Message* message);
// {"reference"} → ExportBundleRequest.
Status ReadExportBundle(const Json& body, Message* message);

// ListBundlesResponse → [{namespace,id,version,path}].
std::string WriteBundles(const Message& message);
// BuildBundleResponse → {id,version,digest,path}.
std::string WriteBuiltBundle(const Message& message);
// ImportBundleResponse → {status,namespace,id,version,digest,path}.
std::string WriteImportedBundle(const Message& message);
// InspectBundleResponse → {namespace,id,version,digest,readme,bundle_manifest,agent_spec}.
std::string WriteBundleMetadata(const Message& message);
// ListSessionsResponse → [{id,agent_id,message_count,created_at}].
std::string WriteSessions(const Message& message);
// CreateSessionResponse → the same of one.
std::string WriteSession(const Message& message);
// {id,agent_id,bundle_ref,model_id,created_at,messages:[{role,content}]}.
std::string WriteSessionDetail(const agent::v1::Session& session,
                               const std::vector<agent::v1::ChatMessage>& messages);
// SubmitTurnResponse → {session_id,turn_id,after_sequence}.
std::string WriteSubmitted(const agent::v1::SubmitTurnResponse& submitted,
                           const std::string& session_id);
// {session_id,turn_id,response}.
std::string WriteRunResult(const std::string& session_id, const std::string& turn_id,
                           const std::string& response);

}  // namespace odyssey::shape

#endif  // ODYSSEY_HTTP_SHAPE_ORIGINAL_H_
