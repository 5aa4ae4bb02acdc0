/* control.c: see control.h. */
#include "replayer/control.h"

#include "replayer/deck.h"
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
};

static void answer(struct api_call *call, control_action *act)
{
	struct status st = {0};
	struct err err = {0};
	struct buf json;
	int rc = act(call->api->deck, &call->query, &err);

	buf_init(&json, LIMIT_DOCUMENT_BYTES);
	if (rc == 0)
		rc = deck_status(call->api->deck, &json, &err);
	if (rc == 0) {
		respond_json(call->x, call->request, &call->style, 200, buf_slice(&json));
	} else {
		if (rc == ERR_USAGE)
			status_bad_request(&st, "%s", err.text);
		else
			status_set(&st, 500, "InternalError", "%s", err.text);
		api_fail(call, &st);
	}
	buf_release(&json);
}

bool control_is_asked(const struct api_call *call)
{
	struct slice path = call->query.path;

	return path.len >= strlen(PREFIX) && memcmp(path.ptr, PREFIX, strlen(PREFIX)) == 0;
}

bool control_serve(struct api_call *call)
{
	struct slice path = call->query.path;
	struct status st = {0};

	if (!control_is_asked(call))
		return false;
	path = (struct slice){path.ptr + strlen(PREFIX), path.len - strlen(PREFIX)};
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (!slice_is(path, actions[i].name))
			continue;
		if (slice_is(call->request->method, actions[i].changes ? "POST" : "GET")) {
			answer(call, actions[i].act);
		} else {
			status_no_method(&st);
			api_fail(call, &st);
		}
		return true;
	}
	return false;
}

char *control_url(const char *url, const char *token, const char *fingerprint)
{
	return xasprintf("%s" PREFIX "?token=%s%s%s", url, token, fingerprint ? "&certificate=" : "",
		fingerprint ? fingerprint : "");
}
