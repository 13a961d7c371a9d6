#ifndef ODYSSEY_HTTP_SHAPE_PUBLIC_ID_H_
#define ODYSSEY_HTTP_SHAPE_PUBLIC_ID_H_

// HTTP has ids as the original Odyssey has them: a UUID of the same 32 digits as our id
// (agentd/session_file). Requests may have either form. Pure.

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

namespace odyssey::shape {

// "ses_70df…" → its UUID; what is no id of a prefix and 32 digits stays.
std::string PublicId(std::string_view id);
// Every field of the message, and of those in it, that holds an id.
void MakePublic(google::protobuf::Message* message);

// Where the field is one of ids ("session_id"), a UUID becomes the id of its kind; else as it is.
std::string OwnId(std::string_view field, std::string_view text);
// Every field of the message, and of those in it.
void MakeOwn(google::protobuf::Message* message);

}  // namespace odyssey::shape

#endif  // ODYSSEY_HTTP_SHAPE_PUBLIC_ID_H_
