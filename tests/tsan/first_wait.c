/*
 * first_wait.c: linked into the program under ThreadSanitizer only.
 *
 * Its runtime (gcc 12) makes a thread's signal context at the thread's first blocking call, and a signal that
 * arrives in that moment is kept in a context that is then replaced: it is lost. A SIGCHLD lost that way leaves
 * the recorder waiting for a credential plugin that has ended. A blocking call before anything else makes the
 * context while no signal can arrive.
 */
#include <poll.h>
#include <stddef.h>

__attribute__((constructor)) static void wait_once(void)
{
	poll(NULL, 0, 0);
}
