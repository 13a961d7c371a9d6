#ifndef ODYSSEY_TESTS_TESTING_FUSE_DEVICE_H_
#define ODYSSEY_TESTS_TESTING_FUSE_DEVICE_H_

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace odyssey::testing {

// /dev/fuse open to everybody, as udev leaves it on a usual host, while this lives. A bare machine
// has it for root alone, and then no cell can have denied names.
class OpenFuseDevice final {
 public:
  OpenFuseDevice() {
    EXPECT_EQ(stat(kDevice, &before_), 0) << "this kernel has no FUSE";
    EXPECT_EQ(chmod(kDevice, 0666), 0);
  }
  ~OpenFuseDevice() { (void)!chmod(kDevice, before_.st_mode & 07777); }
  OpenFuseDevice(const OpenFuseDevice&) = delete;
  OpenFuseDevice& operator=(const OpenFuseDevice&) = delete;

 private:
  static constexpr char kDevice[] = "/dev/fuse";
  struct stat before_ {};
};

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_TESTING_FUSE_DEVICE_H_
