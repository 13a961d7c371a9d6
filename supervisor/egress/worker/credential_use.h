#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_CREDENTIAL_USE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_CREDENTIAL_USE_H_

// What one request does with the cell's credentials, whichever version of HTTP carries it: secrets
// go in, or it is refused, and none comes back in its response.
//
//   CredentialUse use(worker->keyring(), passage, secure);
//   if (use.BodyBytes(head) != 0) …take the body…
//   if (!use.PutIn(&head, &path, &body)) …refuse…
//   … a body that was not taken goes through use.BodyGuard() …
//   if (!use.TakeOut(&response)) …refuse…
//   … the response's body goes through use.Redactor()

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/egress/credentials/replacer.h"
#include "supervisor/egress/credentials/substitution.h"
#include "supervisor/egress/http/path.h"
#include "supervisor/egress/http/request_head.h"
#include "supervisor/egress/http/response_head.h"
#include "supervisor/egress/worker/tunnel.h"

namespace odyssey::egress {

class CredentialUse final {
 public:
  // `secure`: the server is spoken to under TLS, and its certificate is verified.
  CredentialUse(std::shared_ptr<const credentials::Keyring> keyring, const Passage& passage,
                bool secure);

  // How many bytes of body have to be there before the request goes on; 0: none.
  uint64_t BodyBytes(const http::RequestHead& head) const;

  // Changes what is sent. `body`: all of it, if it was taken; one that has more than BodyBytes is
  // refused. false: nothing of it may be sent, as refusal() and status() say.
  bool PutIn(http::RequestHead* head, http::CanonicalPath* path, std::optional<std::string>* body);
  // Where the endpoint says so: in a text message of a WebSocket. false: as above.
  bool PutInMessage(std::string* text);

  // Of a request that is refused; 0: it is not.
  int status() const { return status_; }
  const credentials::Refusal& refusal() const { return refusal_; }

  // For a body that is not taken: if the guard found() a placeholder, the rest must not be sent,
  // and RefuseBody sets status() and refusal().
  credentials::Replacer BodyGuard() const;
  void RefuseBody();

  // Replaces the secrets in the response's head. false: a secret was sent, and the response is in
  // an encoding that the redactor does not read; none of it may pass, as refusal() and status()
  // say.
  bool TakeOut(http::ResponseHead* response);
  // In those behind the response's body.
  void TakeOut(http::Fields* trailers) const;
  // For the body of the response.
  credentials::Replacer Redactor() const;

  // That were put in: "PROVIDER/KEY", separated by commas.
  const std::string& names() const { return names_; }

 private:
  bool Refuse(int status, credentials::Refusal refusal);
  bool IsReadable(const http::ResponseHead& response) const;
  bool PutInBody(const http::RequestHead& head, std::optional<std::string>* body);
  bool PutInText(credentials::BodyForm form, std::string* text);
  // Of placeholders, in a text that none may be in.
  bool HasNone(std::string_view text);
  std::string PayloadFor(std::string_view said, const std::optional<std::string>& body) const;
  bool Sign(std::string payload, http::RequestHead* head, const http::CanonicalPath& path);
  bool HashesBody(const http::RequestHead& head) const;
  const credentials::Credential* Find(const std::string& provider, std::string_view key) const;
  void Remember(const credentials::Credential* credential);

  const std::shared_ptr<const credentials::Keyring> keyring_;
  const credentials::Place place_;
  const std::vector<const credentials::Credential*> bound_;
  Credentials rules_;  // of the endpoints that allow the request, together
  credentials::Refusal refusal_;
  int status_ = 0;
  std::string names_;
  std::vector<credentials::Replacement> sent_;
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_CREDENTIAL_USE_H_
