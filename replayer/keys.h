/*
 * keys.h: the controls of a replay on a terminal: one line that says where it stands, and keys that move it.
 *
 *     space  pause, go on        + -  twice as fast, half as fast     <- ->  10 s of tape back, forward
 *     .      one event           1 m  recorded speed, speed max       r      back to the beginning
 *     q      quit                ?    the keys
 *
 * It exists only if stdin and stderr are both the terminal of a program in the foreground: in pipes, in CI
 * and with `&` a replay reads and writes nothing more than without it. It does not exist if a command has the
 * terminal for itself.
 */
#ifndef REPLAYER_KEYS_H
#define REPLAYER_KEYS_H

#include "replayer/run/run.h"

#include <uv.h>

struct deck;
struct keys;

/* NULL if there is no terminal. `quit` is called for q. Borrows deck and run. */
struct keys *keys_open(uv_loop_t *loop, struct deck *deck, const struct run *run, void (*quit)(void *context),
	void *context);

/* Writes other text to that descriptor of the terminal, without disturbing the line. */
void keys_write(struct keys *k, int fd, const char *bytes, size_t len);

/* Gives the terminal back as it was; freed when libuv has released its handles. NULL is accepted. */
void keys_close(struct keys *k);

#endif
