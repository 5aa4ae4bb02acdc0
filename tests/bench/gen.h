/*
 * gen.h: a made-up cluster and the watch stream it would send. Deterministic: the same seed gives the same
 * bytes on every machine. gen_json.c writes JSON, gen_pods.c, gen_workloads.c and gen_cluster.c write objects
 * as kube-apiserver would, gen_stream.c lets time pass.
 *
 * What makes the stream like a real one, as far as a compressor and a scanner can tell: key order (Go structs
 * for built-in resources, sorted keys for custom ones), managedFields derived from the object itself,
 * versions of an object that differ in a few stamps, digests and tokens that are random, and sizes and rates
 * counted in real clusters: heartbeats and leases make half of the events, pods nearly half of the bytes.
 */
#ifndef TESTS_BENCH_GEN_H
#define TESTS_BENCH_GEN_H

#include "schema/base/buf.h"
#include "schema/base/count_of.h"

#include <stdio.h>

#define NODE_COUNT   60
#define APP_COUNT    170
#define MAX_REPLICAS 40
#define TEXT_MAX     (1u << 20) /* of one object */

enum timer_kind {
	TIMER_NODE_LEASE,
	TIMER_LEADER_LEASE,
	TIMER_NODE_STATUS,
	TIMER_POD,     /* the pod goes on to its next state */
	TIMER_ROLLOUT, /* some deployment gets a new image */
	TIMER_ROLL,    /* one step of a rollout */
	TIMER_SCALE,
	TIMER_CRON,
	TIMER_EVENT_EXPIRY,
	TIMER_APPLICATION,
	TIMER_OPERATOR,
	TIMER_AUTOSCALER,
	TIMER_SECRET,
	TIMER_BOOKMARK,
};

struct timer {
	int64_t at_ms;
	uint64_t number; /* earlier made, earlier served */
	enum timer_kind kind;
	void *subject;
};

/* What all objects have. resourceVersions have eight digits, so that they can be written over. */
struct meta {
	char name[96], namespace[32], uid[37];
	int64_t created_ms;
	unsigned generation;
};

struct node {
	struct meta meta, lease_meta;
	unsigned number, first_image;
	int64_t heartbeat_ms;
};

enum pod_state {
	POD_CREATED,   /* not yet scheduled */
	POD_SCHEDULED, /* has a node */
	POD_CREATING,  /* the kubelet has taken it */
	POD_RUNNING,   /* started, not ready */
	POD_READY,
	POD_CRASHED, /* a container ended with an error */
	POD_BACKOFF, /* waits before the next start */
	POD_DONE,    /* of a job: ended well */
	POD_TERMINATING,
	POD_STOPPED, /* containers have ended, the object is still there */
	POD_GONE,
};

struct pod {
	struct meta meta;
	struct app *app;
	struct node *node;
	enum pod_state state;
	unsigned restarts, revision;
	char owner_uid[37], owner_name[96], hash[11], suffix[6];
	char container_id[3][65], last_container_id[65];
	int64_t scheduled_ms, started_ms, ready_ms, changed_ms, deleted_ms;
	char *creator_fields; /* managedFields of its controller, made once */
	bool crashes, of_job;
	uint64_t timer; /* the one that counts: a pod told to end has an older one still running */
	unsigned timers_running;
};

struct replica_set {
	struct meta meta;
	char hash[11];
	unsigned revision, wanted, made, ready;
};

struct app {
	struct meta meta, slice_meta, scaler_meta;
	unsigned number, replicas, containers, env_count, revision;
	char digest[65];
	struct replica_set sets[2]; /* the one before, the one of now */
	struct pod *pods[2 * MAX_REPLICAS];
	size_t pod_count;
	bool rolling, job;
	int64_t progressed_ms, scaled_ms;
};

/* A core/v1 Event that is still kept; its bytes, with the place of its resourceVersion. */
struct kept_event {
	char *json;
	size_t len, rv_at;
};

struct gen {
	uint64_t random;
	int64_t now_ms;
	uint64_t rv, written, wanted;
	FILE *out;
	struct buf text, fields; /* the object being written; scratch */
	struct timer *heap;
	size_t heap_count, heap_cap;
	uint64_t timer_count;
	struct node nodes[NODE_COUNT];
	struct app apps[APP_COUNT];
	unsigned cron_round;
};

/* gen_json.c */
uint64_t gen_random(struct gen *g);
unsigned gen_below(struct gen *g, unsigned limit);
bool gen_chance(struct gen *g, unsigned percent);
void gen_uid(struct gen *g, char to[37]);
void gen_hex(struct gen *g, char *to, size_t digits); /* terminates */
void gen_letters(struct gen *g, char *to, size_t count);
void gen_meta(struct gen *g, struct meta *m, const char *namespace, const char *name);
/* Appends; ' in the format stands for ", so that JSON can be read in the source. %T in it is no conversion:
 * use gen_time. */
void put(struct buf *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *gen_time(char to[32], int64_t ms);
const char *gen_micro_time(char to[32], int64_t ms, unsigned us);
/* Appends the FieldsV1 of a JSON value: every member that a writer of it would own. */
void put_fields(struct buf *to, struct slice value);
/* Writes {"type":...,"object":...} and a line feed. */
void gen_emit(struct gen *g, const char *type, const struct buf *object);
uint64_t gen_next_rv(struct gen *g);
/* Returns the timer's number. */
uint64_t gen_after(struct gen *g, int64_t delay_ms, enum timer_kind kind, void *subject);

/* gen_pods.c */
void pod_write(struct gen *g, struct pod *p, struct buf *to);
void pod_enter(struct gen *g, struct pod *p, enum pod_state state);
void pod_template_write(struct app *a, unsigned revision, struct buf *to);
void app_labels_write(struct app *a, struct buf *to);

/* gen_workloads.c */
void app_image(const struct app *a, unsigned container, unsigned revision, char to[160]);
struct pod *app_add_pod(struct gen *g, struct app *a);
void app_forget_pod(struct pod *p);
void app_emit(struct gen *g, struct app *a, const char *type);
void app_emit_set(struct gen *g, struct app *a, struct replica_set *set, const char *type);
void app_emit_slice(struct gen *g, struct app *a, const char *type);
void app_emit_scaler(struct gen *g, struct app *a, const char *type);
void app_start_rollout(struct gen *g, struct app *a);
void app_roll(struct gen *g, struct app *a);
void app_scale(struct gen *g, struct app *a);
void job_run(struct gen *g, struct app *a);
void job_emit(struct gen *g, struct pod *p, const char *type);

/* gen_cluster.c */
void node_emit(struct gen *g, struct node *n, const char *type);
void lease_emit(struct gen *g, const struct meta *m, const char *holder, unsigned seconds, const char *type);
void event_emit(struct gen *g, struct pod *p, const char *component, const char *reason, const char *message);
void event_expire(struct gen *g, struct kept_event *e);
void application_emit(struct gen *g, struct app *a, const char *type);
void operator_emit(struct gen *g, const struct meta *m, const char *type);
void secret_emit(struct gen *g, struct app *a);
void config_map_emit(struct gen *g, struct app *a);
void bookmark_emit(struct gen *g, const char *kind, const char *api_version);

#endif
