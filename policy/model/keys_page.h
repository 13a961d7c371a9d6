#ifndef ODYSSEY_POLICY_MODEL_KEYS_PAGE_H_
#define ODYSSEY_POLICY_MODEL_KEYS_PAGE_H_

// docs/policy/keys.md: the table of policy keys as a page of reference. keys_page_test compares the
// page with it.

#include <string>

namespace odyssey::policy {

std::string KeysPage();

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_MODEL_KEYS_PAGE_H_
