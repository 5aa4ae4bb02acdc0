/* run_book.c: see run_book.h. */
#include "tools/tee/run_book.h"

#include "schema/base/clock.h"
#include "schema/base/hash.h"
#include "schema/base/log.h"
#include "schema/base/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WAITING_MAX_BYTES (8u << 20)
#define CLIENTS_MAX       1000 /* the rest is one client together */
#define AGENT_MAX_BYTES   200
#define DIGEST_MAX_BYTES  256

struct known_client {
	uint64_t hash;
	struct tee_client client;
	char *credential;
};

struct run_book {
	char *path;
	struct run_file *file;
	struct run_past past;
	struct redactor *redactor;
	struct known_client **clients;
	size_t client_count;
	bool told_failure;
};

static void fact_number(struct run_file *f, const char *name, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)n);
	run_file_fact(f, name, text);
}

static void write_facts(struct run_book *b, const struct run_book_options *o)
{
	char *tape = realpath(o->tape, NULL);

	run_file_fact(b->file, "kubetape", KUBETAPE_VERSION);
	run_file_fact(b->file, "tape", tape ? tape : o->tape);
	run_file_fact(b->file, "tape_id", o->tape_id);
	run_file_fact(b->file, "source", "tee");
	run_file_fact(b->file, "server", o->server);
	if (b->past.is_new)
		fact_number(b->file, "begin_ns", clock_wall_ns(&clock_system));
	free(tape);
}

int run_book_open(const struct run_book_options *options, struct run_book **ret, struct err *err)
{
	struct run_book *b = xcalloc(1, sizeof(*b));
	int rc = run_file_go_on(options->path, options->tape_id, &b->file, &b->past, err);

	if (rc) {
		free(b);
		return rc;
	}
	run_file_limit(b->file, WAITING_MAX_BYTES);
	b->path = xstrdup(options->path);
	b->redactor = options->redactor;
	write_facts(b, options);
	*ret = b;
	return 0;
}

static void run_book_release(struct run_book *b)
{
	for (size_t i = 0; i < b->client_count; i++) {
		free(b->clients[i]->client.name);
		free(b->clients[i]->credential);
		free(b->clients[i]);
	}
	free(b->clients);
	free(b->path);
	free(b);
}

int run_book_close(struct run_book *b, const struct run_book_end *end, struct err *err)
{
	int rc;

	if (!b)
		return 0;
	fact_number(b->file, "end_ns", clock_wall_ns(&clock_system));
	fact_number(b->file, "ended_seq", (int64_t)end->last_seq);
	run_file_fact(b->file, "ended_by", end->ended_by);
	if (end->exit_code >= 0)
		fact_number(b->file, "exit_code", end->exit_code);
	rc = run_file_close(b->file, err);
	run_book_release(b);
	return rc;
}

void run_book_discard(struct run_book *b)
{
	if (!b)
		return;
	(void)!run_file_close(b->file, NULL);
	if (b->past.is_new)
		unlink(b->path);
	run_book_release(b);
}

struct run_file *run_book_file(struct run_book *b)
{
	return b->file;
}

uint64_t run_book_request(const struct run_book *b, uint64_t id)
{
	return b->past.last_request + id;
}

uint64_t run_book_socket(const struct run_book *b, uint64_t id)
{
	return b->past.last_socket + id;
}

void run_book_tick(struct run_book *b)
{
	struct err err;

	if (b->told_failure || !run_file_has_failed(b->file, &err))
		return;
	b->told_failure = true;
	log_error("%s; clients are served on, and nothing more is in the run", err.text);
}

/* ---- clients ---- */

/* "basic" and "bearer" tell nothing that the digest does not. */
static char *digest_of(struct run_book *b, struct slice credential)
{
	static const char mark[] = "digest ";
	struct buf line;
	const char *at = NULL;
	char *digest;

	buf_init(&line, DIGEST_MAX_BYTES);
	if (credential.len && redactor_bytes(b->redactor, credential, &line, NULL) == 0 && line.len)
		at = memmem(line.ptr, line.len, mark, sizeof(mark) - 1);
	digest = at ? slice_dup((struct slice){
			      at + sizeof(mark) - 1, (size_t)(line.ptr + line.len - at) - (sizeof(mark) - 1)})
		    : xstrdup("");
	buf_release(&line);
	return digest;
}

static struct known_client *find_client(const struct run_book *b, uint64_t hash, struct slice agent)
{
	for (size_t i = 0; i < b->client_count; i++) {
		if (b->clients[i]->hash == hash && slice_is(agent, b->clients[i]->client.name))
			return b->clients[i];
	}
	return NULL;
}

static struct known_client *add_client(
	struct run_book *b, uint64_t hash, struct slice agent, struct slice credential)
{
	struct known_client *k = xcalloc(1, sizeof(*k));

	k->hash = hash;
	k->client.id = b->past.last_client + b->client_count + 1;
	k->client.name = slice_dup(agent);
	k->credential = digest_of(b, credential);
	b->clients = xgrow(b->clients, b->client_count, sizeof(*b->clients));
	b->clients[b->client_count++] = k;
	return k;
}

struct tee_client *run_book_client(
	struct run_book *b, struct slice agent, struct slice authorization, int64_t wall_ns)
{
	struct known_client *k;
	uint64_t hash;

	if (agent.len > AGENT_MAX_BYTES)
		agent.len = AGENT_MAX_BYTES;
	hash = hash_add(hash_add(HASH_EMPTY, agent), authorization);
	k = find_client(b, hash, agent);
	if (!k && b->client_count >= CLIENTS_MAX)
		return &b->clients[b->client_count - 1]->client;
	if (k)
		return &k->client;
	if (b->client_count == CLIENTS_MAX - 1)
		agent = slice_of("(others)");
	k = add_client(b, hash, agent, authorization);
	run_file_client(b->file, &(struct run_client_row){.id = k->client.id,
					 .client = agent,
					 .credential = slice_of(k->credential),
					 .time_ns = wall_ns});
	return &k->client;
}
