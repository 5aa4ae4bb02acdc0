/* resume.c: see resume.h. */
#include "recorder/resume.h"

#include "schema/base/hash.h"
#include "schema/base/rv.h"

#include <stdlib.h>

static void copy_rv(char to[RESUME_RV_BYTES], struct slice rv)
{
	size_t len = rv.len < RESUME_RV_BYTES ? rv.len : 0;

	if (len)
		memcpy(to, rv.ptr, len);
	to[len] = 0;
}

static uint64_t identity(enum event_type type, struct slice uid)
{
	return hash_add(HASH_EMPTY ^ (uint64_t)type, uid);
}

static bool is_member(const struct resume *r, uint64_t id)
{
	for (size_t i = 0; i < r->member_count; i++) {
		if (r->members[i] == id)
			return true;
	}
	return false;
}

static void add_member(struct resume *r, uint64_t id)
{
	if (r->member_count == r->member_cap) {
		r->member_cap = r->member_cap ? r->member_cap * 2 : 4;
		r->members = xrealloc(r->members, r->member_cap * sizeof(*r->members));
	}
	r->members[r->member_count++] = id;
}

static void close_group(struct resume *r)
{
	r->group_open = r->last_deleted = false;
	r->before[0] = 0;
}

void resume_release(struct resume *r)
{
	free(r->members);
	*r = (struct resume){0};
}

void resume_set(struct resume *r, struct slice rv)
{
	if (!slice_is(rv, r->rv))
		r->member_count = 0;
	copy_rv(r->rv, rv);
	close_group(r);
}

enum resume_verdict resume_judge(
	const struct resume *r, enum event_type type, struct slice uid, struct slice rv)
{
	struct slice last = slice_of(r->rv);
	int order;

	if (!rv_valid(rv) || !rv_valid(last))
		return RESUME_NEW;
	order = rv_compare(rv, last);
	if (order > 0)
		return RESUME_NEW;
	if (order < 0)
		return RESUME_BACKWARD;
	return is_member(r, identity(type, uid)) ? RESUME_REPEAT : RESUME_NEW;
}

void resume_event(struct resume *r, enum event_type type, struct slice uid, struct slice rv)
{
	if (!rv_valid(rv)) {
		/* Where that of the list is no number either, versions are only good for watching from them. */
		if (rv.len && *r->rv && !rv_valid(slice_of(r->rv)))
			resume_set(r, rv);
		return;
	}
	if (!slice_is(rv, r->rv)) {
		copy_rv(r->before, slice_of(r->rv));
		copy_rv(r->rv, rv);
		r->member_count = 0;
	}
	r->group_open = true;
	r->last_deleted = type == EVENT_DELETED;
	add_member(r, identity(type, uid));
}

const char *resume_point(const struct resume *r)
{
	return r->group_open && r->last_deleted && r->before[0] ? r->before : r->rv;
}

bool resume_expired(struct resume *r)
{
	bool another = resume_point(r) == r->before;

	close_group(r);
	return another;
}

void resume_forget(struct resume *r)
{
	r->rv[0] = 0;
	r->member_count = 0;
	close_group(r);
}
