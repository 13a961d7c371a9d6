// Shared memory, semaphores and queues: what has to work, within the cell.

#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <semaphore.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

// A page that parent and child share.
void* SharedPage() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : page;
}

Finding PosixMemory(const Targets&) {
  const UniqueFd fd(shm_open("/odyssey-probe-own", O_CREAT | O_EXCL | O_RDWR, 0600));
  shm_unlink("/odyssey-probe-own");
  if (!fd || ftruncate(fd.get(), 4096) != 0) return BrokenAt("shm_open");
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  return WorksIf(memory != MAP_FAILED, "mmap");
}

Finding SystemVMemory(const Targets&) {
  const int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  if (id < 0) return BrokenAt("shmget");
  void* memory = shmat(id, nullptr, 0);
  shmctl(id, IPC_RMID, nullptr);
  return WorksIf(memory != reinterpret_cast<void*>(-1) && shmdt(memory) == 0, "shmat");
}

Finding SystemVSemaphores(const Targets&) {
  const int id = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
  if (id < 0) return BrokenAt("semget");
  sembuf up{0, 1, 0};
  const bool good = semop(id, &up, 1) == 0;
  return WorksIf(semctl(id, 0, IPC_RMID) == 0 && good, "semop");
}

Finding SystemVMessages(const Targets&) {
  const int id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
  if (id < 0) return BrokenAt("msgget");
  struct {
    long type = 1;
    char text[4] = "hi";
  } message;
  const bool good = msgsnd(id, &message, 4, 0) == 0 && msgrcv(id, &message, 4, 0, 0) == 4;
  return WorksIf(msgctl(id, IPC_RMID, nullptr) == 0 && good, "msgsnd");
}

Finding PosixMessages(const Targets&) {
  constexpr const char* kName = "/odyssey-probe-own";
  mq_attr sizes{};
  sizes.mq_maxmsg = 4;
  sizes.mq_msgsize = 16;
  const mqd_t queue = mq_open(kName, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600, &sizes);
  if (queue < 0) return errno == ENOSYS ? NotApplicable("this kernel has none") : BrokenAt("open");
  const bool unlinked = mq_unlink(kName) == 0;
  char text[16];
  if (mq_send(queue, "hi", 2, 0) != 0) return BrokenAt("mq_send");
  if (mq_receive(queue, text, sizeof(text), nullptr) != 2) return BrokenAt("mq_receive");
  return WorksIf(unlinked, "mq_unlink");
}

Finding PosixSemaphore(const Targets&) {
  auto* semaphore = static_cast<sem_t*>(SharedPage());
  if (semaphore == nullptr || sem_init(semaphore, 1, 0) != 0) return BrokenAt("sem_init");
  if (fork() == 0) _exit(sem_post(semaphore));
  return WorksIf(sem_wait(semaphore) == 0, "sem_wait");
}

Finding NamedSemaphore(const Targets&) {
  sem_t* semaphore = sem_open("/odyssey-probe-own", O_CREAT | O_EXCL, 0600, 1);
  if (semaphore == SEM_FAILED) return BrokenAt("sem_open");
  return WorksIf(sem_unlink("/odyssey-probe-own") == 0 && sem_wait(semaphore) == 0, "sem_wait");
}

Finding Futex(const Targets&) {
  auto* word = static_cast<uint32_t*>(SharedPage());
  if (word == nullptr) return BrokenAt("mmap");
  if (fork() == 0) {
    __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
    _exit(static_cast<int>(syscall(SYS_futex, word, FUTEX_WAKE, 1, nullptr, nullptr, 0)));
  }
  while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == 0) {
    if (syscall(SYS_futex, word, FUTEX_WAIT, 0, nullptr, nullptr, 0) == 0) continue;
    if (errno != EAGAIN && errno != EINTR) return BrokenAt("futex");
  }
  return Works();
}

}  // namespace

void AddWorkingIpc(Probes* all) {
  const auto add = [all](const char* id, const char* what, Attempt attempt) {
    all->push_back({std::string("works.") + id, what, "", std::move(attempt)});
  };
  add("posix_memory", "POSIX shared memory", PosixMemory);
  add("posix_semaphore", "a POSIX semaphore between processes", PosixSemaphore);
  add("named_semaphore", "a named POSIX semaphore", NamedSemaphore);
  add("system_v_memory", "System V shared memory", SystemVMemory);
  add("system_v_semaphores", "System V semaphores", SystemVSemaphores);
  add("system_v_messages", "System V messages", SystemVMessages);
  add("posix_messages", "POSIX message queues", PosixMessages);
  add("futex", "a futex between processes", Futex);
}

}  // namespace odyssey::probe
