/* control.c: see control.h. */
#include "replayer/control.h"

#include "replayer/deck.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"

#include <stdlib.h>

#define PREFIX    "/kubetape/v1/"
#define STEPS_MAX 1000000

typedef int control_action(struct deck *d, const struct query *q, struct err *err);

static int do_nothing(struct deck *d, const struct query *q, struct err *err)
{
	(void)d;
	(void)q;
	(void)err;
	return 0;
}

static int do_pause(struct deck *d, const struct query *q, struct err *err)
{
	(void)q;
	(void)err;
	player_pause(d->player);
	return 0;
}

static int do_resume(struct deck *d, const struct query *q, struct err *err)
{
	(void)q;
	(void)err;
	player_start(d->player);
	player_resume(d->player);
	return 0;
}

static int do_rewind(struct deck *d, const struct query *q, struct err *err)
{
	(void)q;
	return deck_rewind(d, err);
}

static int do_step(struct deck *d, const struct query *q, struct err *err)
{
	char *text = slice_dup(query_get(q, "count"));
	unsigned long count = *text ? strtoul(text, NULL, 10) : 1;
	int rc = 0;

	if (text[strspn(text, "0123456789")] || count == 0 || count > STEPS_MAX)
		rc = err_set(err, ERR_USAGE, "bad count '%s': expected 1 to %d", text, STEPS_MAX);
	else
		player_step(d->player, count);
	free(text);
	return rc;
}

static int do_speed(struct deck *d, const struct query *q, struct err *err)
{
	char *text = slice_dup(query_get(q, "value"));
	double speed;
	int rc = speed_parse(text, &speed, err);

	free(text);
	if (rc == 0)
		player_set_speed(d->player, speed);
	return rc;
}

static int do_seek(struct deck *d, const struct query *q, struct err *err)
{
	char *to = slice_dup(query_get(q, "to"));
	int rc = deck_seek(d, to, err);

	free(to);
	return rc;
}

static int do_run(struct deck *d, const struct query *q, struct err *err)
{
	char *until;
	int rc;

	if (query_has(q, "when"))
		return deck_run_until_event(d, query_get(q, "when"), err);
	until = slice_dup(query_get(q, "until"));
	rc = deck_run_until(d, until, err);
	free(until);
	return rc;
}

static int do_break(struct deck *d, const struct query *q, struct err *err)
{
	static const char *const words[] = {
		[WATCHES_END] = "end", [WATCHES_RESET] = "rst", [WATCHES_EXPIRE] = "expired"};
	struct slice how = query_get(q, "how");

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (slice_is(how, words[i])) {
			watches_break(d->watches, (enum watches_break)i, query_get(q, "resource"));
			return 0;
		}
	}
	return err_set(err, ERR_USAGE, "bad way to break a watch '%.*s': expected end, rst or expired",
		(int)(how.len < 40 ? how.len : 40), how.ptr ? how.ptr : "");
}

static int do_view(struct deck *d, const struct query *q, struct err *err)
{
	(void)q;
	return deck_show(d, err);
}

static const struct {
	const char *name;
	bool changes; /* wants POST */
	control_action *act;
} actions[] = {
	{"status", false, do_nothing},
	{"", false, do_nothing}, /* the control address itself */
	{"pause", true, do_pause},
	{"resume", true, do_resume},
	{"rewind", true, do_rewind},
	{"step", true, do_step},
	{"speed", true, do_speed},
	{"seek", true, do_seek},
	{"run", true, do_run},
	{"break", true, do_break},
	{"view", true, do_view},
};

int control_act(struct deck *d, struct slice method, struct slice name, const struct query *q, struct buf *to,
	struct err *err)
{
	for (size_t i = 0; i < COUNT_OF(actions); i++) {
		int rc;

		if (!slice_is(name, actions[i].name))
			continue;
		if (!slice_is(method, actions[i].changes ? "POST" : "GET")) {
			(void)!err_set(err, ERR_USAGE, "the method is not allowed here");
			return 405;
		}
		rc = actions[i].act(d, q, err);
		if (rc == 0)
			rc = deck_status(d, to, err);
		return rc == 0 ? 200 : rc == ERR_USAGE ? 400 : 500;
	}
	(void)!err_set(err, ERR_NOT_FOUND, "there is no control '%.*s'", (int)(name.len < 40 ? name.len : 40),
		name.ptr ? name.ptr : "");
	return 404;
}

static void control_fail(struct api_call *call, int code, const struct err *err)
{
	struct status st = {0};

	if (code == 405)
		status_no_method(&st);
	else if (code == 400)
		status_bad_request(&st, "%s", err->text);
	else
		status_set(&st, code, "InternalError", "%s", err->text);
	api_fail(call, &st);
}

bool control_is_asked(const struct api_call *call)
{
	struct slice path = call->query.path;

	return path.len >= strlen(PREFIX) && memcmp(path.ptr, PREFIX, strlen(PREFIX)) == 0;
}

bool control_serve(struct api_call *call)
{
	struct slice path = call->query.path;
	struct err err = {0};
	struct buf json;
	int rc;

	if (!control_is_asked(call))
		return false;
	path = (struct slice){path.ptr + strlen(PREFIX), path.len - strlen(PREFIX)};
	buf_init(&json, LIMIT_DOCUMENT_BYTES);
	rc = control_act(call->api->deck, call->request->method, path, &call->query, &json, &err);
	if (rc == 200)
		respond_json(call->x, call->request, &call->style, 200, buf_slice(&json));
	else if (rc != 404)
		control_fail(call, rc, &err);
	buf_release(&json);
	return rc != 404;
}

char *control_url(const char *url, const char *token, const char *fingerprint)
{
	return xasprintf("%s" PREFIX "?token=%s%s%s", url, token, fingerprint ? "&certificate=" : "",
		fingerprint ? fingerprint : "");
}
