#include "agentd/daemon/log.h"

#include <gtest/gtest.h>

namespace odyssey::daemon {
namespace {

TEST(LogTest, FieldsOfALineAreFieldsOfTheJournal) {
  EXPECT_EQ(JournalEntry(Priority::kWarning, "session=ses_1 turn=trn_2 ended error=\"no, a=b\" n="),
            "SYSLOG_IDENTIFIER=odyssey-agentd\nPRIORITY=4\n"
            "MESSAGE=session=ses_1 turn=trn_2 ended error=\"no, a=b\" n=\n"
            "ODYSSEY_SESSION=ses_1\nODYSSEY_TURN=trn_2\nODYSSEY_ERROR=no, a=b\nODYSSEY_N=\n");
  EXPECT_EQ(JournalEntry(Priority::kInfo, "stops"),
            "SYSLOG_IDENTIFIER=odyssey-agentd\nPRIORITY=6\nMESSAGE=stops\n");
  EXPECT_EQ(JournalEntry(Priority::kInfo, "=x A=1 \"=\""),
            "SYSLOG_IDENTIFIER=odyssey-agentd\nPRIORITY=6\nMESSAGE==x A=1 \"=\"\n");
}

}  // namespace
}  // namespace odyssey::daemon
