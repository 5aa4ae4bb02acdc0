/* process_tree.h: a process and all that it has started, according to /proc. Processes that have left the
 * tree (a daemon, whose parent has ended) are not seen. */
#ifndef REPLAYER_PROCESS_TREE_H
#define REPLAYER_PROCESS_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Kills all of them; the shells and wrappers in which a program was started go with it, and it with them. */
void process_tree_kill(pid_t pid);

/* Whether a thread of theirs runs, waits for a processor, or waits for the disk. */
bool process_tree_is_awake(pid_t pid);

/* Their memory in RAM, in bytes; shared memory counts for each. */
uint64_t process_tree_memory(pid_t pid);

#endif
