/*
 * discovery.h: asks the server what it offers and keeps its answers on the tape for replays: /api, /apis,
 * every group version, /version, the OpenAPI index, and the namespace kube-system, whose UID identifies the
 * cluster.
 *
 * discovery_save writes the documents that differ from what it wrote last. Aggregated documents have the
 * variant "aggregated", plain ones "".
 */
#ifndef RECORDER_DISCOVERY_H
#define RECORDER_DISCOVERY_H

#include "recorder/http.h"
#include "schema/base/catalog.h"
#include "schema/tape/writer.h"

/* The document whose UID identifies the cluster. */
#define DISCOVERY_IDENTITY "/api/v1/namespaces/kube-system"

struct discovery;

struct discovery_result {
	const struct catalog *catalog; /* borrowed until the next run */
	const char *cluster_uid;       /* "" if the server does not say */
};

/* http is borrowed. */
struct discovery *discovery_new(struct http *http);
void discovery_free(struct discovery *d);

/*
 * One round; `done` is called from the loop with err->code 0 or the reason why there is no catalog:
 * unreachable (ERR_NETWORK), refused (ERR_DENIED), nonsense (ERR_PROTOCOL). Groups that fail on their own are
 * left out. If a round is already running, returns false and does not call `done`.
 */
bool discovery_run(struct discovery *d,
	void (*done)(void *context, const struct discovery_result *result, const struct err *err),
	void *context);

/* Whether a group did not tell in the last round what it has. */
bool discovery_lacks_groups(const struct discovery *d);

/* Writes what the round brought; to be called from `done`. Returns how many documents were new. */
int discovery_save(struct discovery *d, struct tape_writer *tape, struct err *err) MUST_CHECK;

/* Writes the requests of the round as rows, those that failed and those of a round that brought something
 * new; to be called from `done`, after discovery_save if that is called. */
int discovery_account(struct discovery *d, struct tape_writer *tape, struct err *err) MUST_CHECK;

/* A document as it was saved last, empty when it never was; borrowed until discovery_save. */
struct slice discovery_document(struct discovery *d, const char *path);

/* The sentence for a failed answer: "cannot reach 'host:port': ...", "server 'host:port' refused the
 * credentials: ...". `body` is the body of the answer. */
int discovery_explain(
	const struct http *http, const struct http_answer *answer, struct slice body, struct err *err);

#endif
