/* write_internal.h: shared by the write*.c, and by own_write.h, owners.h, crd_ending.c and upkeep.c, which
 * also write. */
#ifndef REPLAYER_WRITE_INTERNAL_H
#define REPLAYER_WRITE_INTERNAL_H

#include "replayer/fault/fault_writes.h"
#include "replayer/json/json_tree.h"
#include "replayer/table/view.h"
#include "replayer/write/type_cache.h"
#include "replayer/write/write.h"
#include "replayer/write/write_account.h"
#include "replayer/write/write_body.h"
#include "replayer/write/write_check.h"

#define TIMESTAMP_BYTES      32
#define FIELD_MANAGER_MAX    128  /* bytes of its name */
#define WRITE_WARNINGS_BYTES 4096 /* of the header, as the API server limits it */

/* One write while it is being done. All functions that return int return 0, or
 * ERR_FAILED with `st` filled. */
struct write {
	struct api_call *call;
	struct collection *c;
	enum verb verb;
	enum write_policy policy;
	bool dry_run;
	uint64_t by;                 /* who wrote it, a hash of the User-Agent; 0: unknown */
	struct view view;            /* of the answer */
	struct collection shown;     /* the kind of the answer if it is not that of the collection */
	struct slice namespace, sub; /* of the path */
	char *name;                  /* of the path, or of a new object */
	cJSON *old;                  /* the present object; NULL: none */
	uint64_t old_seq;            /* ... the version that was found under its name; 0: none */
	char *part;        /* ... what programs wrote of it (own_part.h); NULL: all of it, or no object */
	uint64_t tape_seq; /* the tape's event that writes: `part` does not change; 0: a program writes */
	bool is_late;      /* ... which was hidden when it came; see held_names.h */
	bool is_awaited;   /* a new object that is to follow the tape; see awaited.h */
	uint64_t rv;       /* of the collection, then */
	bool has_type;     /* it is known, because write_type was asked */
	struct field_type type;
	struct status st;
	struct fault_write_answer fault; /* a fault's effect on it */
	int code;                        /* of the answer */
	cJSON *answer;                   /* its body */
	bool is_status;                  /* the answer is not an object of the collection */
	bool managed;                    /* its managed fields are up to date */
	struct buf warnings;             /* the header of the answer */
	bool is_beside;                  /* it is done beside the loop (write_job.c) */
	bool is_stale; /* ... and another client has written the object meanwhile: nothing was stored */
};

/* ---- write_job.c: writes that take long ---- */

/* Runs a function that uses changing state of the replay: the world, watches, the type cache. A write on
 * another thread waits until the loop has run it. Returns what it returns, or ERR_STOPPED. */
int write_in_world(struct write *w, int (*what)(void *context), void *context) MUST_CHECK;

/* Whether it takes so long that other clients would notice, judged by the bytes that are to be read, compared
 * and printed.
 */
bool write_is_long(const struct api_call *call, const struct collection *c);

/* Does it beside the loop and answers it later. What the call borrows is copied. */
void write_beside(struct api_call *call, struct collection *c);

/* ---- write.c ---- */

void write_init(struct write *w, struct api_call *call, struct collection *c);
void write_release(struct write *w);

/* Determines the request, the policy and the form of the answer, before the write is done. */
int write_begin(struct write *w) MUST_CHECK;
int write_do(struct write *w) MUST_CHECK;

/* The answer: as it is stored, and as it is sent (empty where write_answer has to lay it out, because that
 * needs the world). */
struct write_text {
	struct buf plain, body;
};
void write_text_init(struct write_text *t);
void write_text_release(struct write_text *t);
void write_print(struct write *w, struct write_text *ret);
void write_answer(struct write *w, struct write_text *text);

/* ---- write_object.c: what all objects have ---- */

/* The object of that name into w->old; NULL if there is none. */
int write_load(struct write *w, struct slice name) MUST_CHECK;
/* The same for `object` in the body of an update: a hidden recorded lease is there for a client that names its
 * version, having seen it in a list or watch. */
int write_load_named(struct write *w, const cJSON *object) MUST_CHECK;
/* Like write_load, with a 404 if there is none. */
int write_load_existing(struct write *w) MUST_CHECK;

/* Removes empty labels and other empty members from the metadata. write_layout.c. */
void write_drop_empty(cJSON *object);

/* Puts members into the API server's order: those of a built-in kind in the order of its type's fields, those
 * of a custom resource by name. Removes empty ones from metadata. write_layout.c. */
void write_normalize(const struct write *w, cJSON *object);

/* Stores the result, by the policy: the object gets its resourceVersion, and watchers get the change. For a
 * deletion pass the last state. */
int write_store(struct write *w, enum event_type type, cJSON *object) MUST_CHECK;

/* The time that a new object gets. */
void write_timestamp(char to[TIMESTAMP_BYTES], int64_t ahead_s);

/* Whether the resource has that subresource, as far as is known. */
bool write_has_subresource(struct write *w, const char *name);

/* The version to write to; 0: none. Call it in the world. */
uint64_t write_find(const struct write *w, struct slice name);

/* The type of the object. */
struct field_type write_type(struct write *w);

/* 422 with one cause. `reason` and `field` are constants. */
int write_invalid(struct write *w, const char *kind, const char *reason, const char *field,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

/* 409. */
int write_conflict(struct write *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* 415 of a patch. */
int write_unsupported(struct write *w);

/* Details of an error about the object: name, group, kind. */
void write_set_details(struct write *w, const char *kind);

/* An answer of kind Status that says success, about the object. */
void write_answer_success(struct write *w, int code, const cJSON *object);

/* ---- one file each ---- */

int write_create(struct write *w) MUST_CHECK;
/* The same with an object at hand, which is taken over; its kind has been checked. */
int write_create_object(struct write *w, cJSON *object) MUST_CHECK;
int write_update(struct write *w) MUST_CHECK;
int write_patch(struct write *w) MUST_CHECK;
int write_apply(struct write *w) MUST_CHECK;
int write_delete(struct write *w) MUST_CHECK;
int write_delete_collection(struct write *w) MUST_CHECK;
int write_subresource(struct write *w, bool *ret_done) MUST_CHECK;
void write_find_bound(struct write *w); /* a POST to bindings is one to pods/NAME/binding */

/* Replaces w->old by `object` (taken over), as far as the subresource of the path allows; the answer is the
 * result. rv_required: an object without resourceVersion is refused where the kind does not allow it. */
int write_replace(struct write *w, cJSON *object, bool rv_required) MUST_CHECK;

/* Deletes w->old, with the options of the body (may be NULL); the answer is made. */
int write_remove(struct write *w, const cJSON *options) MUST_CHECK;

/* Gives a service the addresses, node ports and policies that it lacks, and keeps those of w->old; does
 * nothing to other kinds. 422 if another service has the requested ones. write_service.c. */
int write_settle_service(struct write *w, cJSON *object) MUST_CHECK;

/* ---- write_crd.c: nothing is done to other kinds ---- */

#define FINALIZER_CRD "customresourcecleanup.apiextensions.k8s.io" /* custom resources go first */
bool write_is_crd(const struct collection *c);
bool write_is_of_namespaces(const struct collection *c); /* in write_delete.c */

/* Fills in what a new CRD lacks; 422 for one that defines nothing. */
int write_begin_crd(struct write *w, cJSON *object) MUST_CHECK;

/* Stores a CRD that has just been created once more: its names are accepted, and it is established. */
int write_establish_crd(struct write *w, const cJSON *object) MUST_CHECK;

/* A CRD that is being deleted waits for its custom resources. */
void write_end_crd(const struct write *w, cJSON *object);

/* 403 for a new custom resource whose CRD is being deleted. */
int write_check_crd(struct write *w) MUST_CHECK;

/* ---- write_propagate.c ---- */

#define FINALIZER_ORPHAN     "orphan"             /* dependents are to stay; then the object goes */
#define FINALIZER_FOREGROUND "foregroundDeletion" /* dependents go first */

/* Gives an object that is being deleted the finalizer of what the options ask for its dependents, or takes it
 * away. */
void write_propagate(const struct write *w, const cJSON *options, cJSON *object);

bool write_has_finalizer(const cJSON *object, const char *name);
void write_drop_finalizer(cJSON *object, const char *name);

/* Whether that state of an object is its end: it is being deleted, and nothing holds it any more. */
bool write_is_over(const struct write *w, const cJSON *object);

/* Stores an object that takes the place of w->old: as a change, or as its deletion if it is over. */
int write_store_changed(struct write *w, cJSON *object) MUST_CHECK;

/* The Scale of an object, as which the answer is shown from then on, and the object with the replicas of a
 * Scale. write_scale.c. */
int write_scale_of(struct write *w, const cJSON *object, cJSON **ret) MUST_CHECK;
int write_scale(struct write *w) MUST_CHECK;                   /* a PUT */
int write_scale_set(struct write *w, cJSON *scale) MUST_CHECK; /* takes it over */

#endif
