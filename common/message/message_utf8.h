#ifndef ODYSSEY_COMMON_MESSAGE_MESSAGE_UTF8_H_
#define ODYSSEY_COMMON_MESSAGE_MESSAGE_UTF8_H_

#include <google/protobuf/message.h>

namespace odyssey::message {

// Makes every `string` field valid UTF-8, also in nested messages: what is not becomes U+FFFD. A
// receiver refuses a whole message for one bad byte. Maps stay as they are.
void SanitizeStrings(google::protobuf::Message* message);

}  // namespace odyssey::message

#endif  // ODYSSEY_COMMON_MESSAGE_MESSAGE_UTF8_H_
