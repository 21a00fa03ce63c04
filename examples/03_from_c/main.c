/* The C API: an all_reduce and a message to the next rank, under way at once, waited for together.
 *
 *   tutti run -n 3 -- ./from_c
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti.h>

static void check(tutti_error code) {
  if (code == TUTTI_OK) return;
  fprintf(stderr, "%s: %s\n", tutti_error_text(code), tutti_last_error());
  exit(1);
}

int main(void) {
  tutti_comm* comm = NULL;
  check(tutti_comm_from_environment(&comm));
  const uint32_t rank = tutti_comm_rank(comm);
  const uint32_t num_ranks = tutti_comm_num_ranks(comm);

  float gradient[1000];
  for (size_t i = 0; i < 1000; ++i) gradient[i] = (float)(rank + 1);
  const int64_t token = 100 * (int64_t)rank;
  int64_t received = -1;

  tutti_options options = TUTTI_OPTIONS_INIT;
  options.op = TUTTI_AVG;
  options.name = "layer3.weight";
  tutti_work* all = NULL;
  tutti_work* message = NULL;
  check(tutti_all_reduce(comm, gradient, gradient, 1000, TUTTI_FLOAT32, &options, &all));
  check(tutti_send(comm, &token, 1, TUTTI_INT64, (rank + 1) % num_ranks, NULL, &message));
  tutti_work_add(all, message);
  check(tutti_recv(comm, &received, 1, TUTTI_INT64, (rank + num_ranks - 1) % num_ranks, NULL,
                   &message));
  tutti_work_add(all, message);
  check(tutti_work_wait(all));
  tutti_work_free(all);

  printf("rank %" PRIu32 " of %" PRIu32 ": average %g, token %" PRId64 "\n", rank, num_ranks,
         (double)gradient[999], received);
  tutti_comm_free(comm);
  return 0;
}
