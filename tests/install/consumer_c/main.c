/* A user's program in C, which knows of no C++: a job of one rank. */
#include <stdio.h>
#include <string.h>
#include <tutti.h>

int main(void) {
  tutti_comm* comm = NULL;
  if (tutti_comm_from_environment(&comm) != TUTTI_OK) return 1;
  int32_t data[3] = {1, 2, 3};
  if (tutti_all_reduce(comm, data, data, 3, TUTTI_INT32, NULL, NULL) != TUTTI_OK) return 1;
  if (data[0] != 1 || data[2] != 3) return 1;
  tutti_options options = TUTTI_OPTIONS_INIT;
  options.root = 7;
  if (tutti_broadcast(comm, data, 3, TUTTI_INT32, &options, NULL) != TUTTI_INVALID_ARGUMENT) return 1;
  if (strstr(tutti_last_error(), "root 7 of 1 ranks") == NULL) return 1;
  printf("tutti %s from C: %s\n", tutti_version(), tutti_last_error());
  tutti_comm_free(comm);
  return 0;
}
