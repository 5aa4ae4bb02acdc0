/* status.c: see status.h. */
#include "replayer/request/status.h"

#include "schema/base/json_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void status_release(struct status *s)
{
	free(s->message);
	free(s->name);
	free(s->group);
	free(s->kind);
	free(s->continue_token);
	for (size_t i = 0; i < s->cause_count; i++) {
		free(s->causes[i].message);
		free(s->causes[i].field);
	}
	free(s->causes);
	*s = (struct status){0};
}

int status_set(struct status *s, int code, const char *reason, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	s->message = xvasprintf(format, ap);
	va_end(ap);
	s->code = code;
	s->reason = reason;
	return ERR_FAILED;
}

int status_bad_request(struct status *s, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	s->message = xvasprintf(format, ap);
	va_end(ap);
	s->code = 400;
	s->reason = "BadRequest";
	return ERR_FAILED;
}

int status_expired(struct status *s, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	s->message = xvasprintf(format, ap);
	va_end(ap);
	s->code = 410;
	s->reason = "Expired";
	return ERR_FAILED;
}

int status_no_resource(struct status *s)
{
	s->has_details = true;
	return status_set(s, 404, "NotFound", "the server could not find the requested resource");
}

int status_no_method(struct status *s)
{
	s->has_details = true;
	return status_set(s, 405, "MethodNotAllowed",
		"the server does not allow this method on the requested resource");
}

int status_no_verb(struct status *s, const char *verb, struct slice group, struct slice resource)
{
	s->has_details = true;
	s->group = slice_dup(group);
	s->kind = slice_dup(resource);
	return status_set(s, 405, "MethodNotAllowed",
		"%s is not supported on resources of kind \"%.*s.%.*s\"", verb, (int)resource.len,
		resource.ptr, (int)group.len, group.ptr);
}

int status_not_found(struct status *s, struct slice group, struct slice resource, struct slice name)
{
	s->has_details = true;
	s->name = slice_dup(name);
	s->group = group.len ? slice_dup(group) : NULL;
	s->kind = slice_dup(resource);
	return status_set(s, 404, "NotFound", "%s%s%s \"%s\" not found", s->kind, s->group ? "." : "",
		s->group ? s->group : "", s->name);
}

int status_too_large_version(struct status *s, uint64_t asked, uint64_t current, int retry_after_s)
{
	s->has_details = true;
	s->retry_after_s = retry_after_s;
	status_add_cause(s, "ResourceVersionTooLarge", xstrdup("Too large resource version"), NULL);
	return status_set(s, 504, "Timeout", "Timeout: Too large resource version: %llu, current: %llu",
		(unsigned long long)asked, (unsigned long long)current);
}

void status_add_cause(struct status *s, const char *reason, char *message, const char *field)
{
	s->causes = xrealloc(s->causes, (s->cause_count + 1) * sizeof(*s->causes));
	s->causes[s->cause_count++] = (struct status_cause){reason, message, field ? xstrdup(field) : NULL};
}

void status_invalid_begin(struct status *s, const char *kind)
{
	s->code = 422;
	s->reason = "Invalid";
	s->has_details = true;
	s->group = xstrdup("meta.k8s.io");
	s->kind = xstrdup(kind);
}

void status_invalid_cause(struct status *s, const char *reason, const char *field, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	status_add_cause(s, reason, xvasprintf(format, ap), field);
	va_end(ap);
}

int status_invalid_end(struct status *s)
{
	char *text = xasprintf("%s.%s \"\" is invalid: %s", s->kind, s->group, s->cause_count > 1 ? "[" : "");

	for (size_t i = 0; i < s->cause_count; i++) {
		char *longer = xasprintf(
			"%s%s%s: %s", text, i ? ", " : "", s->causes[i].field, s->causes[i].message);

		free(text);
		text = longer;
	}
	s->message = s->cause_count > 1 ? xasprintf("%s]", text) : xstrdup(text);
	free(text);
	return ERR_FAILED;
}

/* Appends `prefix` and the text as a JSON string; nothing when there is no text. */
static int write_member(struct buf *to, const char *prefix, const char *text, struct err *err)
{
	int rc;

	if (!text)
		return 0;
	rc = buf_append(to, prefix, strlen(prefix), err);
	return rc ? rc : json_escape(slice_of(text), to, err);
}

static int write_causes(const struct status *s, struct buf *to, struct err *err)
{
	int rc = s->cause_count ? buf_printf(to, err, ",\"causes\":[") : 0;

	for (size_t i = 0; i < s->cause_count && rc == 0; i++) {
		rc = buf_printf(to, err, i ? "," : "");
		if (rc == 0)
			rc = write_member(to, "{\"reason\":", s->causes[i].reason, err);
		if (rc == 0)
			rc = write_member(to, ",\"message\":", s->causes[i].message, err);
		if (rc == 0)
			rc = write_member(to, ",\"field\":", s->causes[i].field, err);
		if (rc == 0)
			rc = buf_append(to, "}", 1, err);
	}
	return rc || !s->cause_count ? rc : buf_append(to, "]", 1, err);
}

/* Every member is written with a comma before it; the first comma is then overwritten. */
static int write_details(const struct status *s, struct buf *to, struct err *err)
{
	static const char open[] = ",\"details\":";
	size_t brace;
	int rc;

	if (!s->has_details)
		return 0;
	rc = buf_append(to, open, strlen(open), err);
	brace = to->len;
	if (rc == 0)
		rc = write_member(to, ",\"name\":", s->name, err);
	if (rc == 0)
		rc = write_member(to, ",\"group\":", s->group, err);
	if (rc == 0)
		rc = write_member(to, ",\"kind\":", s->kind, err);
	if (rc == 0)
		rc = write_causes(s, to, err);
	if (rc == 0 && s->retry_after_s)
		rc = buf_printf(to, err, ",\"retryAfterSeconds\":%d", s->retry_after_s);
	if (rc == 0 && to->len == brace)
		rc = buf_append(to, ",", 1, err);
	if (rc)
		return rc;
	to->ptr[brace] = '{';
	return buf_append(to, "}", 1, err);
}

int status_write(const struct status *s, struct buf *to, struct err *err)
{
	int rc = buf_printf(to, err, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{");

	if (rc == 0)
		rc = write_member(to, "\"continue\":", s->continue_token, err);
	if (rc == 0)
		rc = buf_printf(to, err, "},\"status\":\"Failure\"");
	if (rc == 0)
		rc = write_member(to, ",\"message\":", s->message, err);
	if (rc == 0)
		rc = write_member(to, ",\"reason\":", s->reason, err);
	if (rc == 0)
		rc = write_details(s, to, err);
	return rc ? rc : buf_printf(to, err, ",\"code\":%d}", s->code);
}
