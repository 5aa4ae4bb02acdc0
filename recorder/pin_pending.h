/*
 * pin_pending.h: the file TAPE.pin-pending beside a tape: a pin that is to be made and is not made yet, so that a recorder which is
 * started again makes it.
 */
#ifndef RECORDER_PIN_PENDING_H
#define RECORDER_PIN_PENDING_H

#include <stdbool.h>
#include <stdint.h>

struct pin_pending {
	char *name; /* of the pin; owned */
	int64_t moment_ns;
};

/* Failures are ignored: then a recorder that is killed makes no pin. */
void pin_pending_write(const char *tape_path, const struct pin_pending *pending);

/* False if no pin is pending. The caller frees the name. */
bool pin_pending_read(const char *tape_path, struct pin_pending *ret);

void pin_pending_remove(const char *tape_path);

#endif
