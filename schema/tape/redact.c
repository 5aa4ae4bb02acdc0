/*
 * redact.c: see redact.h. The object is walked once; what is to stay is copied up to each value that is not.
 */
#include "schema/tape/redact.h"

#include "schema/base/base64.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#define KEY_BYTES    32
#define DIGEST_BYTES 16
#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

struct redactor {
	unsigned char key[KEY_BYTES];
	char *made; /* the key file, when this redactor made it */
};

/* ---- the key ---- */

static int read_key(int fd, const char *path, unsigned char key[KEY_BYTES], struct err *err)
{
	ssize_t n = read(fd, key, KEY_BYTES);

	if (n < 0)
		return err_set_errno(err, errno, "cannot read '%s'", path);
	if (n != KEY_BYTES)
		return err_set(
			err, ERR_CORRUPT, "key file '%s' has %zd bytes, expected %d", path, n, KEY_BYTES);
	return 0;
}

/* Written under another name first, so that a crash leaves either no key or a whole one. */
static int make_key(const char *path, unsigned char key[KEY_BYTES], struct err *err)
{
	char *draft = xasprintf("%s.new", path);
	int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), rc = 0;

	if (fd < 0) {
		rc = err_set_errno(err, errno, "cannot create '%s'", draft);
	} else if (getrandom(key, KEY_BYTES, 0) != KEY_BYTES) {
		rc = err_set_errno(err, errno, "cannot get random bytes");
	} else if (write(fd, key, KEY_BYTES) != KEY_BYTES || fsync(fd) != 0) {
		rc = err_set_errno(err, errno, "cannot write '%s'", draft);
	}
	if (fd >= 0)
		close(fd);
	if (rc == 0 && rename(draft, path) != 0)
		rc = err_set_errno(err, errno, "cannot rename '%s'", draft);
	free(draft);
	return rc;
}

static char *key_path(const char *tape_path)
{
	size_t len = strlen(tape_path);

	while (len > 1 && tape_path[len - 1] == '/')
		len--;
	return xasprintf("%.*s.key", (int)len, tape_path);
}

int redactor_open(const char *tape_path, struct redactor **ret, struct err *err)
{
	char *path = key_path(tape_path);
	unsigned char key[KEY_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;
	bool is_new = fd < 0 && errno == ENOENT;

	if (fd >= 0) {
		rc = read_key(fd, path, key, err);
		close(fd);
	} else if (is_new) {
		rc = make_key(path, key, err);
	} else {
		rc = err_set_errno(err, errno, "cannot open '%s'", path);
	}
	if (rc == 0) {
		*ret = redactor_with_key(key);
		(*ret)->made = is_new ? xstrdup(path) : NULL;
	}
	free(path);
	return rc;
}

struct redactor *redactor_of_tape(const char *tape_path)
{
	char *path = key_path(tape_path);
	unsigned char key[KEY_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool known = fd >= 0 && read_key(fd, path, key, NULL) == 0;

	if (fd >= 0)
		close(fd);
	free(path);
	if (!known && getrandom(key, KEY_BYTES, 0) != KEY_BYTES)
		abort(); /* 32 bytes are never cut short */
	return redactor_with_key(key);
}

struct redactor *redactor_with_key(const unsigned char key[32])
{
	struct redactor *r = xcalloc(1, sizeof(*r));

	memcpy(r->key, key, KEY_BYTES);
	return r;
}

void redactor_discard(struct redactor *r)
{
	if (r && r->made)
		unlink(r->made);
}

void redactor_close(struct redactor *r)
{
	if (!r)
		return;
	free(r->made);
	free(r);
}

bool redactor_concerns(const char *group, const char *resource)
{
	return *group == 0 && strcmp(resource, "secrets") == 0;
}

/* ---- the walk ---- */

/* How the values of a map are written. */
enum value_form { FORM_TEXT, FORM_BASE64 };

struct walk {
	struct redactor *redactor;
	const char *at; /* everything before it has been copied or replaced */
	struct buf *to;
	struct err *err;
};

static int copy_until(struct walk *w, const char *end)
{
	int rc = buf_append(w->to, w->at, (size_t)(end - w->at), w->err);

	w->at = end;
	return rc;
}

static int put_digest(struct walk *w, struct slice secret, enum value_form form)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	char text[16 + 2 * DIGEST_BYTES] = "redacted:";
	size_t len = strlen(text);
	int rc;

	if (!HMAC(EVP_sha256(), w->redactor->key, KEY_BYTES, (const unsigned char *)secret.ptr, secret.len,
		    digest, NULL))
		return err_set(w->err, ERR_FAILED, "cannot make a digest");
	for (size_t i = 0; i < DIGEST_BYTES; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%02x", digest[i]);
	rc = buf_append(w->to, "\"", 1, w->err);
	if (rc == 0 && form == FORM_BASE64)
		rc = base64_encode((struct slice){text, len}, w->to, w->err);
	else if (rc == 0)
		rc = buf_append(w->to, text, len, w->err);
	return rc ? rc : buf_append(w->to, "\"", 1, w->err);
}

/* The bytes a value stands for: without quotes and escapes, and decoded when it is base64. What cannot be
 * decoded stands for itself. */
static int plain_value(struct slice value, enum value_form form, struct buf *to, struct err *err)
{
	struct buf text;
	int rc;

	if (!value.len || value.ptr[0] != '"')
		return buf_append(to, value.ptr, value.len, err);
	if (form == FORM_TEXT)
		return json_unescape(value, to, err);
	buf_init(&text, LIMIT_OBJECT_BYTES);
	rc = json_unescape(value, &text, err);
	if (rc == 0 && base64_decode(buf_slice(&text), to, NULL)) {
		buf_clear(to);
		rc = buf_append(to, text.ptr, text.len, err);
	}
	buf_release(&text);
	return rc;
}

static int redact_value(struct walk *w, struct slice value, enum value_form form)
{
	struct buf plain;
	int rc = copy_until(w, value.ptr);

	buf_init(&plain, LIMIT_OBJECT_BYTES);
	if (rc == 0)
		rc = plain_value(value, form, &plain, w->err);
	if (rc == 0)
		rc = put_digest(w, (struct slice){plain.ptr ? plain.ptr : "", plain.len}, form);
	w->at = value.ptr + value.len;
	if (plain.ptr)
		OPENSSL_cleanse(plain.ptr, plain.cap);
	buf_release(&plain);
	return rc;
}

static bool is_container(struct slice value, char open)
{
	return value.len && value.ptr[0] == open;
}

static int redact_map(struct walk *w, struct slice map, enum value_form form)
{
	struct json_iter it;
	struct slice key, value;
	int rc;

	if (slice_is(map, "null"))
		return 0;
	if (!is_container(map, '{'))
		return redact_value(w, map, form);
	rc = json_iter_begin(map, &it, w->err);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &value, w->err)) > 0)
		rc = redact_value(w, value, form);
	return rc;
}

static int redact_object(struct walk *w, struct slice object);

/* The annotation is a whole object as JSON text: redacted inside, so that it is still one. */
static int redact_last_applied(struct walk *w, struct slice value)
{
	struct buf inner, clean;
	struct walk deeper = {.redactor = w->redactor, .to = &clean, .err = w->err};
	int rc = copy_until(w, value.ptr);

	buf_init(&inner, LIMIT_OBJECT_BYTES);
	buf_init(&clean, LIMIT_OBJECT_BYTES);
	if (rc == 0)
		rc = json_unescape(value, &inner, w->err);
	deeper.at = inner.ptr;
	if (rc == 0 && is_container(buf_slice(&inner), '{') && redact_object(&deeper, buf_slice(&inner)) == 0)
		rc = json_escape(buf_slice(&clean), w->to, w->err);
	else if (rc == 0)
		rc = put_digest(w, buf_slice(&inner), FORM_TEXT);
	w->at = value.ptr + value.len;
	if (inner.ptr)
		OPENSSL_cleanse(inner.ptr, inner.cap);
	buf_release(&inner);
	buf_release(&clean);
	return rc;
}

static int redact_annotations(struct walk *w, struct slice annotations)
{
	struct json_iter it;
	struct slice key, value;
	int rc;

	if (!is_container(annotations, '{'))
		return 0;
	rc = json_iter_begin(annotations, &it, w->err);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &value, w->err)) > 0)
		rc = slice_is(key, LAST_APPLIED) && is_container(value, '"') ? redact_last_applied(w, value)
									     : 0;
	return rc;
}

static int redact_metadata(struct walk *w, struct slice metadata)
{
	struct json_iter it;
	struct slice key, value;
	int rc;

	if (!is_container(metadata, '{'))
		return 0;
	rc = json_iter_begin(metadata, &it, w->err);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &value, w->err)) > 0)
		rc = slice_is(key, "annotations") ? redact_annotations(w, value) : 0;
	return rc;
}

static int redact_member(struct walk *w, struct slice key, struct slice value)
{
	if (slice_is(key, "data"))
		return redact_map(w, value, FORM_BASE64);
	if (slice_is(key, "stringData"))
		return redact_map(w, value, FORM_TEXT);
	if (slice_is(key, "metadata"))
		return redact_metadata(w, value);
	return 0;
}

static int redact_object(struct walk *w, struct slice object)
{
	struct json_iter it;
	struct slice key, value;
	int rc = json_iter_begin(object, &it, w->err);

	while (rc == 0 && (rc = json_iter_next(&it, &key, &value, w->err)) > 0)
		rc = redact_member(w, key, value);
	return rc ? rc : copy_until(w, object.ptr + object.len);
}

int redactor_object(struct redactor *r, struct slice object, struct buf *to, struct err *err)
{
	struct walk w = {.redactor = r, .at = object.ptr, .to = to, .err = err};

	return redact_object(&w, object);
}

int redactor_body(struct redactor *r, struct slice group, struct slice resource, struct slice body,
	struct buf *to, struct err *err)
{
	static const char redacted[] = "\"redacted\"";
	bool secret = group.len == 0 && slice_is(resource, "secrets");
	size_t before = to->len;

	if (!secret && !slice_is(resource, "tokenreviews"))
		return buf_append(to, body.ptr, body.len, err);
	if (secret && is_container(body, '{') && redactor_object(r, body, to, err) == 0)
		return 0;
	to->len = before;
	return buf_append(to, redacted, strlen(redacted), err);
}
