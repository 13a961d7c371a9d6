#include "tests/testing/bpf_evaluator.h"

#include <cstring>
#include <optional>
#include <string>

namespace odyssey::testing {
namespace {

Status Refused(size_t pc, const char* why) {
  return InvalidArgument("instruction " + std::to_string(pc) + ": " + why);
}

class Machine final {
 public:
  Machine(std::span<const sock_filter> program, const seccomp_data& data)
      : program_(program), data_(data) {}

  Result<Verdict> Run() {
    size_t steps = 0;
    while (pc_ < program_.size()) {
      const sock_filter& f = program_[pc_];
      ++steps;
      if (f.code == (BPF_RET | BPF_K)) return Verdict{.action = f.k, .steps = steps};
      if (f.code == (BPF_RET | BPF_A)) return Verdict{.action = a_, .steps = steps};
      ODY_RETURN_IF_ERROR(Step(f));
    }
    return Refused(pc_, "the program ends without an answer");
  }

 private:
  Status Step(const sock_filter& f) {
    switch (BPF_CLASS(f.code)) {
      case BPF_LD:
        return Load(f, &a_);
      case BPF_LDX:
        return Load(f, &x_);
      case BPF_ST:
      case BPF_STX:
        return Store(f);
      case BPF_ALU:
        return Calculate(f);
      case BPF_JMP:
        return Jump(f);
      case BPF_MISC:
        BPF_MISCOP(f.code) == BPF_TAX ? x_ = a_ : a_ = x_;
        ++pc_;
        return OkStatus();
      default:
        return Refused(pc_, "unknown class");
    }
  }

  Status Load(const sock_filter& f, uint32_t* out) {
    switch (BPF_MODE(f.code)) {
      case BPF_ABS:
        if (f.k % 4 != 0 || f.k + 4 > sizeof(data_)) return Refused(pc_, "load out of bounds");
        std::memcpy(out, reinterpret_cast<const char*>(&data_) + f.k, 4);
        break;
      case BPF_IMM:
        *out = f.k;
        break;
      case BPF_MEM:
        if (f.k >= BPF_MEMWORDS) return Refused(pc_, "load past the scratch memory");
        *out = memory_[f.k];
        break;
      default:
        return Refused(pc_, "unknown load");
    }
    ++pc_;
    return OkStatus();
  }

  Status Store(const sock_filter& f) {
    if (f.k >= BPF_MEMWORDS) return Refused(pc_, "store past the scratch memory");
    memory_[f.k] = BPF_CLASS(f.code) == BPF_ST ? a_ : x_;
    ++pc_;
    return OkStatus();
  }

  Status Calculate(const sock_filter& f) {
    const uint32_t operand = BPF_SRC(f.code) == BPF_X ? x_ : f.k;
    switch (BPF_OP(f.code)) {
      case BPF_AND:
        a_ &= operand;
        break;
      case BPF_OR:
        a_ |= operand;
        break;
      case BPF_XOR:
        a_ ^= operand;
        break;
      case BPF_ADD:
        a_ += operand;
        break;
      case BPF_SUB:
        a_ -= operand;
        break;
      default:
        return Refused(pc_, "unknown arithmetic");
    }
    ++pc_;
    return OkStatus();
  }

  Status Jump(const sock_filter& f) {
    if (BPF_OP(f.code) == BPF_JA) {
      pc_ += 1 + size_t{f.k};
      return OkStatus();
    }
    const std::optional<bool> taken = Compare(f);
    if (!taken.has_value()) return Refused(pc_, "unknown jump");
    pc_ += 1 + size_t{*taken ? f.jt : f.jf};
    return OkStatus();
  }

  std::optional<bool> Compare(const sock_filter& f) const {
    const uint32_t operand = BPF_SRC(f.code) == BPF_X ? x_ : f.k;
    switch (BPF_OP(f.code)) {
      case BPF_JEQ:
        return a_ == operand;
      case BPF_JGT:
        return a_ > operand;
      case BPF_JGE:
        return a_ >= operand;
      case BPF_JSET:
        return (a_ & operand) != 0;
      default:
        return std::nullopt;
    }
  }

  std::span<const sock_filter> program_;
  const seccomp_data& data_;
  size_t pc_ = 0;
  uint32_t a_ = 0;
  uint32_t x_ = 0;
  uint32_t memory_[BPF_MEMWORDS] = {};
};

}  // namespace

Result<Verdict> Evaluate(std::span<const sock_filter> program, const seccomp_data& data) {
  return Machine(program, data).Run();
}

std::vector<sock_filter> ToProgram(std::string_view bytes) {
  std::vector<sock_filter> program(bytes.size() / sizeof(sock_filter));
  std::memcpy(program.data(), bytes.data(), program.size() * sizeof(sock_filter));
  return program;
}

}  // namespace odyssey::testing
