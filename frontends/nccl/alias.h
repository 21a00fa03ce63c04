// Every function is there under a second name, for profilers that put themselves between. Stands
// behind the function, in its file: an alias cannot leave it.
#pragma once

#define TUTTI_NCCL_ALIAS(name) \
  extern "C" decltype(nccl##name) pnccl##name __attribute__((alias("nccl" #name)))
