#ifndef ODYSSEY_IMAGE_DOCKERFILE_PROBLEM_H_
#define ODYSSEY_IMAGE_DOCKERFILE_PROBLEM_H_

#include <string>
#include <vector>

namespace odyssey::dockerfile {

// What is refused of a Dockerfile: "INSTRUCTION: cause; hint".
struct Problem {
  int line = 0;  // counts from 1
  std::string text;
  friend bool operator==(const Problem&, const Problem&) = default;
};
using Problems = std::vector<Problem>;

}  // namespace odyssey::dockerfile

#endif  // ODYSSEY_IMAGE_DOCKERFILE_PROBLEM_H_
