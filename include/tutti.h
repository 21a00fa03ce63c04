/* tutti for C, and for everything that speaks C. docs/reference/c_api.md has the tables.
 *
 * Handles are opaque. Every call that can fail returns a tutti_error; tutti_last_error() then says
 * in a sentence what was wrong. Calls on a communicator may come from any thread; a tutti_work
 * belongs to one thread at a time. A work must be freed before its communicator.
 *
 * Stable: what is here keeps its name, its numbers and its meaning; structs grow at their end,
 * which is what their first field is for.
 */
#ifndef TUTTI_H
#define TUTTI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tutti_error {
  TUTTI_OK = 0,
  TUTTI_INVALID_ARGUMENT = 1, /* the caller asked for something that cannot be */
  TUTTI_MALFORMED = 2,        /* a file or message is not what it claims to be */
  TUTTI_UNSUPPORTED = 3,      /* well formed, but not served here */
  TUTTI_NOT_FOUND = 4,
  TUTTI_IO = 5, /* the system refused */
  TUTTI_REFUSED = 6,
  TUTTI_DEADLINE = 7,  /* a wait reached its deadline */
  TUTTI_ABORTED = 8,   /* someone called abort */
  TUTTI_PEER_LOST = 9, /* a rank died */
  TUTTI_OUT_OF_MEMORY = 10,
  TUTTI_NOT_YET = 11 /* tutti_work_test, tutti_work_wait_for: still under way */
} tutti_error;

typedef enum tutti_type {
  TUTTI_INT8 = 0,
  TUTTI_UINT8 = 1,
  TUTTI_INT16 = 2,
  TUTTI_UINT16 = 3,
  TUTTI_INT32 = 4,
  TUTTI_UINT32 = 5,
  TUTTI_INT64 = 6,
  TUTTI_UINT64 = 7,
  TUTTI_FLOAT16 = 8,
  TUTTI_BFLOAT16 = 9,
  TUTTI_FLOAT32 = 10,
  TUTTI_FLOAT64 = 11,
  TUTTI_FLOAT8_E4M3 = 12,
  TUTTI_FLOAT8_E5M2 = 13
} tutti_type;

typedef enum tutti_op {
  TUTTI_SUM = 0,
  TUTTI_PROD = 1,
  TUTTI_MIN = 2,
  TUTTI_MAX = 3,
  TUTTI_AVG = 4,
  TUTTI_BIT_AND = 5,
  TUTTI_BIT_OR = 6,
  TUTTI_BIT_XOR = 7,
  TUTTI_PREMUL_SUM = 8
} tutti_op;

/* A communicator as one rank has it. */
typedef struct tutti_comm tutti_comm;
/* An operation under way. Its buffers are the operation's until it is over. */
typedef struct tutti_work tutti_work;
/* Memory that all ranks of the host read where it lies. */
typedef struct tutti_memory tutti_memory;

/* Everywhere NULL stands for the defaults, which TUTTI_OPTIONS_INIT has too:
 *   tutti_options options = TUTTI_OPTIONS_INIT;
 *   options.name = "layer3.weight";
 */
typedef struct tutti_options {
  size_t size;         /* sizeof(tutti_options) */
  tutti_op op;         /* of calls that reduce */
  uint32_t root;       /* of calls that have one */
  double factor;       /* of TUTTI_PREMUL_SUM: what this rank's elements are multiplied by */
  const char* name;    /* what the call is matched by, with the tag; NULL: none */
  uint64_t tag;        /* 0 and no name: matched by the running number of such calls */
  int64_t deadline_ns; /* from the call on */
} tutti_options;
#define TUTTI_OPTIONS_INIT \
  { sizeof(tutti_options), TUTTI_SUM, 0, 1.0, NULL, 0, INT64_C(1800000000000) }

/* "0.1.0": the library that is linked. */
const char* tutti_version(void);
/* What a code means, in a few words. */
const char* tutti_error_text(tutti_error code);
/* What was wrong in this thread's last call that failed; "" if none has. Until its next call. */
const char* tutti_last_error(void);
/* Bytes of an element; 0 for what is no type. */
size_t tutti_type_size(tutti_type type);

/* One rank of the job that this process was started in (tutti run, mpirun, srun, torchrun); started
 * by none, a job of one rank. */
tutti_error tutti_comm_from_environment(tutti_comm** comm);
/* All ranks of a job whose ranks are threads of this process: fills comms[0 .. num_ranks - 1]. */
tutti_error tutti_comm_threads(uint32_t num_ranks, tutti_comm** comms);
/* Of NULL nothing. */
void tutti_comm_free(tutti_comm* comm);

uint32_t tutti_comm_rank(const tutti_comm* comm);
uint32_t tutti_comm_num_ranks(const tutti_comm* comm);

/* The members at these places; all of them call it with the same list. Sends nothing. */
tutti_error tutti_comm_subset(tutti_comm* comm, const uint32_t* ranks, size_t num_ranks,
                              tutti_comm** part);
tutti_error tutti_comm_duplicate(tutti_comm* comm, tutti_comm** copy);
/* All members call it; those of equal color form a communicator, in order of key, then of rank. */
tutti_error tutti_comm_split(tutti_comm* comm, int64_t color, int64_t key,
                             const tutti_options* options, tutti_comm** part);
/* Sizes of calls, both ends included: bytes of the whole row, of all ranks together where a call
 * gathers or scatters. */
typedef struct tutti_byte_range {
  uint64_t min_bytes;
  uint64_t max_bytes;
} tutti_byte_range;
/* The same members again, whose calls follow the schedule in the file (tutti's JSON or MSCCL XML)
 * where it is for them: its collective, its root, these sizes (NULL: any). It is proved first. All
 * members call it with equal schedules; what is wrong with one of them is an error on all. */
tutti_error tutti_comm_with_schedule(tutti_comm* comm, const char* path,
                                     const tutti_byte_range* sizes, const tutti_options* options,
                                     tutti_comm** copy);
/* The members that live; all of them call it. */
tutti_error tutti_comm_shrink(tutti_comm* comm, const tutti_options* options, tutti_comm** rest);
/* Ends every operation of the communicator, on all members, now and later. Never blocks. */
void tutti_comm_abort(tutti_comm* comm);

/* Memory for buffers of calls: what is sent from it is not copied first. Zero at first, at the
 * beginning of a page. Between threads of a process it is ordinary memory. It may outlive the
 * communicator, and must outlive the works that use it. */
tutti_error tutti_memory_allocate(tutti_comm* comm, size_t bytes, tutti_memory** memory);
/* Of no bytes NULL. */
void* tutti_memory_data(const tutti_memory* memory);
/* Of NULL nothing. */
void tutti_memory_free(tutti_memory* memory);

/* Collectives. With `work` they return at once and *work stands for the operation (it is to be
 * freed even if it fails later; after an error of the call itself *work is NULL). With work NULL
 * they return when it is over. In place: the same pointers as in NCCL and MPI. */
tutti_error tutti_all_reduce(tutti_comm* comm, const void* input, void* output, uint64_t count,
                             tutti_type type, const tutti_options* options, tutti_work** work);
/* `output` counts at the root. */
tutti_error tutti_reduce(tutti_comm* comm, const void* input, void* output, uint64_t count,
                         tutti_type type, const tutti_options* options, tutti_work** work);
tutti_error tutti_broadcast(tutti_comm* comm, void* data, uint64_t count, tutti_type type,
                            const tutti_options* options, tutti_work** work);
/* `count` is of each rank's block; the larger buffer has one block a rank. */
tutti_error tutti_all_gather(tutti_comm* comm, const void* input, void* output, uint64_t count,
                             tutti_type type, const tutti_options* options, tutti_work** work);
tutti_error tutti_reduce_scatter(tutti_comm* comm, const void* input, void* output, uint64_t count,
                                 tutti_type type, const tutti_options* options, tutti_work** work);
tutti_error tutti_gather(tutti_comm* comm, const void* input, void* output, uint64_t count,
                         tutti_type type, const tutti_options* options, tutti_work** work);
tutti_error tutti_scatter(tutti_comm* comm, const void* input, void* output, uint64_t count,
                          tutti_type type, const tutti_options* options, tutti_work** work);
tutti_error tutti_all_to_all(tutti_comm* comm, const void* input, void* output, uint64_t count,
                             tutti_type type, const tutti_options* options, tutti_work** work);
tutti_error tutti_barrier(tutti_comm* comm, const tutti_options* options, tutti_work** work);

/* Uneven blocks: counts[r] is rank r's, the same list on all ranks; blocks lie one behind the
 * other. Of all_to_all_v a rank knows what it sends to each and what it gets from each. */
tutti_error tutti_all_gather_v(tutti_comm* comm, const void* input, void* output,
                               const uint64_t* counts, tutti_type type,
                               const tutti_options* options, tutti_work** work);
tutti_error tutti_reduce_scatter_v(tutti_comm* comm, const void* input, void* output,
                                   const uint64_t* counts, tutti_type type,
                                   const tutti_options* options, tutti_work** work);
tutti_error tutti_gather_v(tutti_comm* comm, const void* input, void* output,
                           const uint64_t* counts, tutti_type type, const tutti_options* options,
                           tutti_work** work);
tutti_error tutti_scatter_v(tutti_comm* comm, const void* input, void* output,
                            const uint64_t* counts, tutti_type type, const tutti_options* options,
                            tutti_work** work);
tutti_error tutti_all_to_all_v(tutti_comm* comm, const void* input, const uint64_t* input_counts,
                               void* output, const uint64_t* output_counts, tutti_type type,
                               const tutti_options* options, tutti_work** work);

/* Messages: matched by the two ranks, name and tag; count and type must be equal. Also to oneself.
 */
tutti_error tutti_send(tutti_comm* comm, const void* data, uint64_t count, tutti_type type,
                       uint32_t peer, const tutti_options* options, tutti_work** work);
tutti_error tutti_recv(tutti_comm* comm, void* data, uint64_t count, tutti_type type, uint32_t peer,
                       const tutti_options* options, tutti_work** work);

/* Runs the rank's operations until this one is over, and says how it ended. */
tutti_error tutti_work_wait(tutti_work* work);
/* The same for at most so long: TUTTI_NOT_YET when it is still under way then. */
tutti_error tutti_work_wait_for(tutti_work* work, int64_t limit_ns);
/* TUTTI_NOT_YET, or how it ended. Does not wait. */
tutti_error tutti_work_test(tutti_work* work);
/* From now on `work` stands for both, and `other` is freed. Groups calls that are waited for once.
 */
void tutti_work_add(tutti_work* work, tutti_work* other);
/* Waits if it is still under way. Of NULL nothing. */
void tutti_work_free(tutti_work* work);

#ifdef __cplusplus
}
#endif

#endif /* TUTTI_H */
