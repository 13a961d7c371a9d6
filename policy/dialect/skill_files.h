#ifndef ODYSSEY_POLICY_DIALECT_SKILL_FILES_H_
#define ODYSSEY_POLICY_DIALECT_SKILL_FILES_H_

// The SKILL.md files of a bundle: those below skills/ and below the paths of its manifest's skills.
// A file may begin with front matter, YAML between two lines "---", of which `name` and
// `description` are read. Without them the name is the manifest's, else the directory's, and the
// description the first line that is neither blank nor a heading. Does file I/O.

#include <string>
#include <vector>

#include "policy/dialect/bundle.h"
#include "policy/dialect/problem.h"
#include "policy/dialect/project_root.h"

namespace odyssey::dialect {

// Sorted by name; none if `declared` is empty. `prefix` begins the files of problems: a name that
// two files have, a declared path without a SKILL.md, front matter that cannot be read.
std::vector<SkillFile> FindSkillFiles(const ProjectRoot& root, const std::vector<Skill>& declared,
                                      const std::string& prefix, Problems* problems);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_SKILL_FILES_H_
