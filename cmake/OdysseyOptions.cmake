# Build options and the one place where compiler flags live.
option(ODYSSEY_WERROR "Treat warnings as errors" OFF)
option(ODYSSEY_FUZZERS "Build the libFuzzer targets (clang only)" OFF)
set(ODYSSEY_SANITIZE "" CACHE STRING "Sanitizers for every target: address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

# The dev preset compiles with -O1 -g1, since its tests take less time than their compilation: that is 55 % of -O2 -g. For
# a debugger, configure with -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-Og -g3 -DNDEBUG".

find_program(ODYSSEY_CCACHE ccache)
if(ODYSSEY_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${ODYSSEY_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ODYSSEY_CCACHE})
endif()

# Linked PRIVATE into every target of ours.
add_library(odyssey_flags INTERFACE)
target_include_directories(odyssey_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(odyssey_flags INTERFACE _GNU_SOURCE)
target_compile_options(odyssey_flags INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers
  -fstack-protector-strong -fno-omit-frame-pointer
  # GCC 12 reports std::string concatenation falsely (GCC bugs 105329, 105651),
  # at -O3 moved strings and structs that a function returned too.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-stringop-overread>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-maybe-uninitialized>
  $<$<BOOL:${ODYSSEY_WERROR}>:-Werror>
  $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
target_link_options(odyssey_flags INTERFACE -Wl,-z,relro,-z,now -Wl,--as-needed)
if(ODYSSEY_SANITIZE)
  target_compile_options(odyssey_flags INTERFACE -fsanitize=${ODYSSEY_SANITIZE})
  target_link_options(odyssey_flags INTERFACE -fsanitize=${ODYSSEY_SANITIZE})
endif()
if(ODYSSEY_FUZZERS)
  target_compile_options(odyssey_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined)
  target_link_options(odyssey_flags INTERFACE -fsanitize=address,undefined)
endif()

# Code that also runs as root or inside a cell: no exceptions, no RTTI.
add_library(odyssey_small INTERFACE)
target_compile_options(odyssey_small INTERFACE -fno-exceptions -fno-rtti)
