/* table.c: see table.h. */
#include "replayer/table.h"

#include "replayer/age.h"
#include "schema/base/json_scan.h"

#include <stdio.h>

static const char *api_version(const struct view *v)
{
	return v->beta ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1";
}

static int write_columns(const struct view *v, struct buf *to, struct err *err)
{
	if (v->no_headers)
		return buf_printf(to, err, "null");
	return buf_printf(to, err,
		"[{\"name\":\"Name\",\"type\":\"string\",\"format\":\"name\",\"description\":\"\",\"priority\":0},"
		"{\"name\":\"Age\",\"type\":\"string\",\"format\":\"\",\"description\":\"\",\"priority\":0}]");
}

static int write_head(
	const struct view *v, const char *rv, const struct list_meta *m, struct buf *to, struct err *err)
{
	int rc = buf_printf(to, err,
		"{\"kind\":\"Table\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%s\"",
		api_version(v), rv);

	if (rc == 0 && m && *m->continue_token)
		rc = buf_printf(to, err, ",\"continue\":\"%s\"", m->continue_token);
	if (rc == 0 && m && m->remaining >= 0)
		rc = buf_printf(to, err, ",\"remainingItemCount\":%lld", (long long)m->remaining);
	if (rc == 0)
		rc = buf_printf(to, err, "},\"columnDefinitions\":");
	if (rc == 0)
		rc = write_columns(v, to, err);
	return rc ? rc : buf_printf(to, err, ",\"rows\":[");
}

int table_head(const struct view *v, const struct list_meta *m, struct buf *to, struct err *err)
{
	char rv[24];

	snprintf(rv, sizeof(rv), "%llu", (unsigned long long)m->rv);
	return write_head(v, rv, m, to, err);
}

static struct slice string_at(struct slice object, const char *path)
{
	struct slice value;

	if (json_get(object, path, &value, NULL) <= 0 || value.len < 2 || value.ptr[0] != '"')
		return (struct slice){NULL, 0};
	return (struct slice){value.ptr + 1, value.len - 2};
}

static int write_cells(const struct view *v, struct slice object, struct buf *to, struct err *err)
{
	char age[AGE_TEXT_MAX];
	struct slice name = string_at(object, "metadata.name");
	int rc = buf_printf(to, err, "[\"%.*s\",", (int)name.len, name.ptr);

	age_format(age, string_at(object, "metadata.creationTimestamp"), v->now_ns);
	if (rc == 0)
		rc = json_escape(slice_of(age), to, err);
	return rc ? rc : buf_append(to, "]", 1, err);
}

static int write_row_object(const struct view *v, struct slice object, struct buf *to, struct err *err)
{
	struct view inner = *v;

	if (v->include == INCLUDE_NONE)
		return buf_append(to, "null", 4, err);
	inner.form = v->include == INCLUDE_OBJECT ? FORM_OBJECT : FORM_PARTIAL;
	return view_object(&inner, object, to, err);
}

int table_row(const struct view *v, struct slice object, struct buf *to, struct err *err)
{
	int rc = buf_printf(to, err, "{\"cells\":");

	if (rc == 0)
		rc = write_cells(v, object, to, err);
	if (rc == 0)
		rc = buf_printf(to, err, ",\"object\":");
	if (rc == 0)
		rc = write_row_object(v, object, to, err);
	return rc ? rc : buf_append(to, "}", 1, err);
}

int table_of_one(const struct view *v, struct slice object, struct buf *to, struct err *err)
{
	struct slice version = string_at(object, "metadata.resourceVersion");
	char rv[64];
	int rc;

	snprintf(rv, sizeof(rv), "%.*s", (int)version.len, version.ptr);
	rc = write_head(v, rv, NULL, to, err);
	if (rc == 0)
		rc = table_row(v, object, to, err);
	return rc ? rc : buf_append(to, "]}", 2, err);
}
