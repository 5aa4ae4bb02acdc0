/* road.c: see road.h. Which protocol a connection speaks, and what passes unread. */
#include "tools/tee/road_internal.h"

#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "tools/tee/h2_frames.h"

#include <stdlib.h>

struct road *road_new(const struct road_options *options, enum road_protocol protocol)
{
	struct road *r = xcalloc(1, sizeof(*r));

	r->o = *options;
	r->protocol = protocol;
	h1_road_init(r);
	if (protocol == ROAD_HTTP2)
		h2_road_open(r);
	return r;
}

void road_free(struct road *r)
{
	if (!r)
		return;
	h1_road_release(r);
	h2_road_free(r);
	field_list_release(&r->fields);
	free(r);
}

enum road_protocol road_protocol(const struct road *r)
{
	return r->protocol;
}

struct talk *road_begin_talk(struct road *r, const struct talk_head *head)
{
	return talk_begin(r->o.feed, ++*r->o.last_request, r->o.connection, head);
}

/* What the client asks unread might be asked in the name of somebody else. */
int road_give_up(struct road *r, const char *why, struct err *err)
{
	h1_road_end(r, PARTY_TEE, ROAD_UNREAD);
	r->protocol = ROAD_RAW;
	if (r->o.rewrite->says_who)
		return err_set(err, ERR_PROTOCOL, "%s", why);
	log_warn("%s; it passes unread", why);
	return 0;
}

/* Without TLS a client that knows beforehand speaks HTTP/2 from the first byte. What has come of the preface
 * is kept in the place of a head, from where it is read again. */
static void decide(struct road *r, struct slice in)
{
	const struct buf *kept = &r->requests.head;
	size_t more = H2_PREFACE_BYTES - kept->len < in.len ? H2_PREFACE_BYTES - kept->len : in.len;
	bool is_same = memcmp(in.ptr, &H2_PREFACE[kept->len], more) == 0;

	if (is_same && kept->len + more < H2_PREFACE_BYTES)
		return;
	r->protocol = is_same ? ROAD_HTTP2 : ROAD_HTTP1;
	if (is_same)
		h2_road_open(r);
}

static int request_undecided(struct road *r, struct slice *in, struct buf *out, struct err *err)
{
	struct slice again;
	struct buf kept;
	int rc = 0;

	decide(r, *in);
	if (r->protocol == ROAD_UNDECIDED) {
		rc = buf_append(&r->requests.head, in->ptr, in->len, err);
		*in = (struct slice){NULL, 0};
	}
	if (r->protocol != ROAD_HTTP2)
		return rc;
	kept = r->requests.head;
	buf_init(&r->requests.head, LIMIT_REQUEST_HEAD_BYTES);
	again = buf_slice(&kept);
	rc = again.len ? h2_road_request(r, &again, out, err) : 0;
	buf_release(&kept);
	return rc;
}

int road_request(struct road *r, struct slice *in, struct buf *out, struct err *err)
{
	int rc = 0;

	if (in->len && r->protocol == ROAD_UNDECIDED)
		rc = request_undecided(r, in, out, err);
	if (rc == 0 && in->len && r->protocol == ROAD_HTTP2)
		rc = h2_road_request(r, in, out, err);
	else if (rc == 0 && in->len && r->protocol == ROAD_HTTP1)
		rc = h1_road_request(r, in, out, err);
	if (rc == 0 && r->protocol == ROAD_RAW) {
		rc = buf_append(out, in->ptr, in->len, err);
		*in = (struct slice){NULL, 0};
	}
	return rc;
}

bool road_waits(const struct road *r)
{
	return r->protocol == ROAD_HTTP1 && r->requests.state == H1_WAITING;
}

int road_answer(struct road *r, struct slice bytes, struct err *err)
{
	int rc = 0;

	if (r->protocol == ROAD_UNDECIDED)
		r->protocol = ROAD_HTTP1;
	if (r->protocol == ROAD_HTTP2)
		h2_road_answer(r, &bytes);
	else if (r->protocol == ROAD_HTTP1)
		rc = h1_road_answer(r, &bytes, err);
	if (rc == 0 && r->protocol == ROAD_RAW && r->upgraded)
		talk_body(r->upgraded, bytes);
	return rc;
}

void road_end(struct road *r, enum road_party by, enum road_end how)
{
	if (by == PARTY_CLIENT && how != ROAD_RESET) {
		r->client_end = r->has_client_ended ? r->client_end : how;
		r->has_client_ended = true;
		return;
	}
	if (r->has_client_ended && how != ROAD_RESET) {
		by = PARTY_CLIENT;
		how = r->client_end;
	}
	if (r->protocol == ROAD_HTTP2)
		h2_road_end(r, by, how);
	else
		h1_road_end(r, by, how);
}
