/*
 * awaited_binding.h: pods that a scheduler of this replay is to bind to nodes (--await update=pods/binding:SCHEDULER),
 * because it did so when the tape was recorded. A binding leaves nothing in managedFields; spec.schedulerName says whose
 * pod it is. Such a pod stays as it was before, whatever the tape says of it, until a program has bound it; then it is
 * where the tape has it, on the node that the program chose.
 *
 *                  tape: on a node              bound
 *     without node ---------------> waits --------------> follows the tape (follow_tape.h)
 *          |                          | tape: DELETED         ^
 *          |         bound            +---------> gone        |
 *          +--------------------------------------------------+
 *
 * A pod that the tape makes on a node, as static ones are, waits for nobody.
 */
#ifndef REPLAYER_AWAITED_BINDING_H
#define REPLAYER_AWAITED_BINDING_H

#include "replayer/serve/call.h"
#include "schema/base/text_map.h"

/* All zero: no bindings are awaited. */
struct awaited_binding {
	uint32_t pods;     /* the resource; 0: none */
	char **schedulers; /* whose pods wait; own */
	size_t count;
	struct text_map waiting;
};
void awaited_binding_add(struct awaited_binding *b, uint32_t pods, struct slice scheduler);
void awaited_binding_release(struct awaited_binding *b);

/* An event is about to be applied: one that puts a pod on a node is hidden. */
void awaited_binding_before(const struct awaited_binding *b, struct api *api, const struct collection *in,
	const struct change *c);

/* Whether an event of a written name waits until the pod that is shown there is bound. */
bool awaited_binding_holds(
	struct awaited_binding *b, const struct collection *in, const struct change *c, struct slice shown);

/* A write was stored as this change. Returns the last event that waited for it; 0: none. */
uint64_t awaited_binding_wrote(
	struct awaited_binding *b, const struct collection *in, const struct change *c);

#endif
