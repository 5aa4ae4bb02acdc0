/*
 * owner_tree.h: which objects belong to which, by the owner references that they ever had, also of those that are
 * deleted: a Deployment, its ReplicaSets, their Pods.
 */
#ifndef TOOLS_OWNER_TREE_H
#define TOOLS_OWNER_TREE_H

#include "schema/tape/reader.h"

struct owner_tree;

struct owner_tree *owner_tree_new(void);
void owner_tree_free(struct owner_tree *o); /* accepts NULL */

/* Adds the object of that UID, in that namespace ("": none), and the objects that it owns. Kubernetes has no
 * owners in other namespaces, so if all roots are of one, only its objects are read. */
void owner_tree_add_root(struct owner_tree *o, const char *uid, const char *namespace);

/* Reads the new events since the last call, up to that one; skips bookkeeping (bookkeeping.h). Reads objects
 * of the tape. */
int owner_tree_read(struct owner_tree *o, struct tape *t, uint64_t last_seq, struct err *err) MUST_CHECK;

/* Appends the UIDs of the roots and of all that they own as a JSON array. */
int owner_tree_uids(struct owner_tree *o, struct buf *to, struct err *err) MUST_CHECK;

/* One line for each of those objects to stdout, below its owner: when it was first and last seen, and whether it is
 * deleted. Positions are event numbers. */
void owner_tree_print(struct owner_tree *o);

#endif
