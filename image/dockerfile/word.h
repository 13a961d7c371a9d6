#ifndef ODYSSEY_IMAGE_DOCKERFILE_WORD_H_
#define ODYSSEY_IMAGE_DOCKERFILE_WORD_H_

// Words of a Dockerfile: quotes, escapes, variables. Pure.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::dockerfile {

// Splits at blanks that are neither quoted nor escaped. The words are as they were written.
std::vector<std::string> SplitWords(std::string_view text, char escape);

using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

// The word without its quotes and escapes, with $NAME, ${NAME}, ${NAME:-WORD}, ${NAME-WORD},
// ${NAME:+WORD}, ${NAME+WORD}, ${NAME:?WORD} and ${NAME?WORD} replaced, not within '…'. A variable
// that is not there is empty. INVALID_ARGUMENT: another form, a quote or brace that is not closed.
Result<std::string> Expand(std::string_view word, char escape, const Lookup& lookup);

// The content of a here-document: quotes stay.
Result<std::string> ExpandHeredoc(std::string_view content, char escape, const Lookup& lookup);

// Whether Expand could fail for what is written.
Status CheckWord(std::string_view word, char escape);

bool IsVariableName(std::string_view name);

}  // namespace odyssey::dockerfile

#endif  // ODYSSEY_IMAGE_DOCKERFILE_WORD_H_
