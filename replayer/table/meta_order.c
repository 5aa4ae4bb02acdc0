/* meta_order.c: see meta_order.h. */
#include "replayer/table/meta_order.h"

#include "schema/base/json_scan.h"

#define MEMBERS_MAX 64 /* what has more stays as it is */

static const char *const meta_names[] = {"name", "generateName", "namespace", "selfLink", "uid",
	"resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
	"managedFields", NULL};
static const char *const owner_names[] = {
	"apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion", NULL};
static const char *const manager_names[] = {
	"manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource", NULL};

struct member {
	struct slice key, value;
};

/* The members of an object; 0 when there are too many, negative when it is none. */
static int read_members(struct slice object, struct member *ret, struct err *err)
{
	struct json_iter it;
	int n = 0, rc = json_iter_begin(object, &it, err);

	if (rc)
		return rc;
	while (n < MEMBERS_MAX && (rc = json_iter_next(&it, &ret[n].key, &ret[n].value, err)) > 0)
		n++;
	if (rc < 0)
		return rc;
	return n < MEMBERS_MAX ? n : 0;
}

static int append_list(struct slice list, const char *const *names, struct buf *to, struct err *err);

static int append_value(const struct member *m, struct buf *to, struct err *err)
{
	if (slice_is(m->key, "ownerReferences"))
		return append_list(m->value, owner_names, to, err);
	if (slice_is(m->key, "managedFields"))
		return append_list(m->value, manager_names, to, err);
	return buf_append(to, m->value.ptr, m->value.len, err);
}

/* Appends a member, and takes it out of those that are left. */
static int take_member(struct member *m, bool first, struct buf *to, struct err *err)
{
	int rc = buf_printf(to, err, "%s\"%.*s\":", first ? "" : ",", (int)m->key.len, m->key.ptr);

	if (rc == 0)
		rc = append_value(m, to, err);
	m->value.len = 0;
	return rc;
}

static int append_sorted(struct slice object, const char *const *names, struct buf *to, struct err *err)
{
	struct member members[MEMBERS_MAX];
	int n = read_members(object, members, err), written = 0, rc;

	if (n <= 0)
		return n < 0 ? n : buf_append(to, object.ptr, object.len, err);
	rc = buf_append(to, "{", 1, err);
	for (; rc == 0 && *names; names++) {
		for (int i = 0; rc == 0 && i < n; i++) {
			if (members[i].value.len && slice_is(members[i].key, *names))
				rc = take_member(&members[i], written++ == 0, to, err);
		}
	}
	for (int i = 0; rc == 0 && i < n; i++) {
		if (members[i].value.len)
			rc = take_member(&members[i], written++ == 0, to, err);
	}
	return rc ? rc : buf_append(to, "}", 1, err);
}

static int append_list(struct slice list, const char *const *names, struct buf *to, struct err *err)
{
	struct slice item;
	struct json_iter it;
	bool first = true;
	int rc, more = 0;

	if (list.len == 0 || *list.ptr != '[')
		return buf_append(to, list.ptr, list.len, err);
	rc = json_iter_begin(list, &it, err);
	if (rc == 0)
		rc = buf_append(to, "[", 1, err);
	while (rc == 0 && (more = json_iter_next(&it, NULL, &item, err)) > 0) {
		if (!first)
			rc = buf_append(to, ",", 1, err);
		if (rc == 0)
			rc = append_sorted(item, names, to, err);
		first = false;
	}
	if (rc == 0 && more < 0)
		rc = more;
	return rc ? rc : buf_append(to, "]", 1, err);
}

int meta_order_append(struct slice metadata, struct buf *to, struct err *err)
{
	return append_sorted(metadata, meta_names, to, err);
}
