/* visit_write.c: see visit.h. */
#include "tools/tee/visit_internal.h"

#include "schema/base/limits.h"

#include <stdlib.h>

/* Groups whose objects are questions: they are created and nothing is kept. */
static bool is_question(const struct api_path *p)
{
	return slice_is(p->group, "authorization.k8s.io") || slice_is(p->group, "authentication.k8s.io");
}

bool visit_is_write(const struct api_path *path, struct slice method)
{
	return path->kind == API_PATH_RESOURCE && !is_question(path) &&
	       (slice_is(method, "POST") || slice_is(method, "PUT") || slice_is(method, "PATCH") ||
		       slice_is(method, "DELETE"));
}

/* Of the answer: without quotes; empty: it has none. */
static struct slice text_at(struct slice json, const char *path)
{
	struct slice text;

	if (!json.len || json_get(json, path, &text, NULL) <= 0 || text.len < 2 || text.ptr[0] != '"')
		return (struct slice){NULL, 0};
	return (struct slice){text.ptr + 1, text.len - 2};
}

void visit_write_end(struct visit *v)
{
	char verb[RUN_VERB_BYTES];
	struct run_write_row row = {.request = v->id,
		.time_ns = v->row.time_ns,
		.tape_time_ns = v->row.tape_time_ns,
		.seq = v->row.seq,
		.client = slice_of(v->client->name),
		.verb = slice_of(run_verb(slice_of(v->method), v->verb, verb)),
		.what = run_resource_of(&v->path),
		.policy = slice_of("live"),
		.content_type = slice_of(v->content_type),
		.dry_run = query_get(&v->query, "dryRun").len > 0,
		.status = v->status};
	struct slice answer = visit_read_whole(v);
	struct buf asked, object;
	bool is_status, secret = v->asked_lost;

	buf_init(&asked, RUN_BODY_BYTES);
	buf_init(&object, LIMIT_OBJECT_BYTES);
	if (v->asked.len && !v->asked_lost)
		secret = visit_clean_body(v, buf_slice(&v->asked), &asked);
	if (answer.len)
		run_clean_answer(v->office->redactor, &v->path, secret, answer, &object);
	row.body = buf_slice(&asked);
	row.object = buf_slice(&object);
	is_status = slice_is(text_at(row.object, "kind"), "Status");
	if (is_status)
		row.reason = text_at(row.object, "reason");
	else
		row.rv = text_at(row.object, "metadata.resourceVersion");
	row.uid = is_status ? row.uid : text_at(row.object, "metadata.uid");
	if (!is_status && !row.what.name.len && slice_is(row.verb, "create"))
		row.what.name = text_at(row.object, "metadata.name");
	v->office->writes++;
	run_file_write(run_book_file(v->office->run), &row);
	buf_release(&asked);
	buf_release(&object);
}
