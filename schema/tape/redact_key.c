/* redact_key.c: see redact.h. The key of a tape, and the digests it makes. */
#include "schema/base/hex.h"
#include "schema/tape/beside.h"
#include "schema/tape/redact_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGEST_BYTES 16

static const char prefix[] = "redacted:";

/* ---- digests ---- */

static bool is_redacted(struct slice value)
{
	if (value.len != REDACT_TEXT_BYTES - 1 || !slice_skip(&value, prefix))
		return false;
	for (size_t i = 0; i < value.len; i++) {
		if (hex_digit(value.ptr[i]) < 0 || (value.ptr[i] >= 'A' && value.ptr[i] <= 'F'))
			return false;
	}
	return true;
}

int redactor_digest(const struct redactor *r, struct slice text, unsigned char ret[32], struct err *err)
{
	unsigned char digest[EVP_MAX_MD_SIZE];

	if (!HMAC(EVP_sha256(), r->key, REDACT_KEY_BYTES, (const unsigned char *)(text.ptr ? text.ptr : ""),
		    text.len, digest, NULL))
		return err_set(err, ERR_FAILED, "cannot make a digest");
	memcpy(ret, digest, 32);
	return 0;
}

int redact_text(const struct redactor *r, struct slice value, char to[REDACT_TEXT_BYTES], struct err *err)
{
	unsigned char digest[32];
	size_t len = sizeof(prefix) - 1;
	int rc;

	if (is_redacted(value)) {
		memcpy(to, value.ptr, value.len);
		to[value.len] = 0;
		return 0;
	}
	rc = redactor_digest(r, value, digest, err);
	if (rc)
		return rc;
	memcpy(to, prefix, len);
	for (size_t i = 0; i < DIGEST_BYTES; i++)
		len += (size_t)snprintf(to + len, REDACT_TEXT_BYTES - len, "%02x", digest[i]);
	return 0;
}

/* ---- the file ---- */

/* Another user that made the file knows the key: nobody but ourselves, the superuser and the owner of the
 * tape is believed. */
static int check_owner(int fd, const char *path, const char *tape_path, struct err *err)
{
	struct stat key, tape;

	if (fstat(fd, &key) != 0)
		return err_set_errno(err, errno, "cannot look at '%s'", path);
	if (!S_ISREG(key.st_mode))
		return err_set(err, ERR_CORRUPT, "key file '%s' is not a regular file", path);
	if (key.st_uid == geteuid() || key.st_uid == 0 ||
		(stat(tape_path, &tape) == 0 && tape.st_uid == key.st_uid))
		return 0;
	return err_set(err, ERR_DENIED, "key file '%s' belongs to another user (%ju) and may be known", path,
		(uintmax_t)key.st_uid);
}

static int read_key(
	const char *path, const char *tape_path, unsigned char key[REDACT_KEY_BYTES], struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc; /* a pipe is not waited for */
	ssize_t n = 0;

	if (fd < 0)
		return err_set_errno(err, errno, "cannot open '%s'", path);
	rc = check_owner(fd, path, tape_path, err);
	if (rc == 0)
		n = read(fd, key, REDACT_KEY_BYTES);
	if (n < 0)
		rc = err_set_errno(err, errno, "cannot read '%s'", path);
	else if (rc == 0 && n != REDACT_KEY_BYTES)
		rc = err_set(err, ERR_CORRUPT, "key file '%s' has %zd bytes, expected %d", path, n,
			REDACT_KEY_BYTES);
	close(fd);
	return rc;
}

static int write_key(int fd, const char *path, unsigned char key[REDACT_KEY_BYTES], struct err *err)
{
	if (getrandom(key, REDACT_KEY_BYTES, 0) != REDACT_KEY_BYTES)
		return err_set_errno(err, errno, "cannot get random bytes");
	if (write(fd, key, REDACT_KEY_BYTES) != REDACT_KEY_BYTES || fsync(fd) != 0)
		return err_set_errno(err, errno, "cannot write '%s'", path);
	return 0;
}

/* Written under another name first, so that a crash leaves either no key or a whole one. */
static int make_key(const char *path, unsigned char key[REDACT_KEY_BYTES], struct err *err)
{
	char *draft = xasprintf("%s.XXXXXX", path);
	int fd = mkostemp(draft, O_CLOEXEC), rc; /* for nobody else, and never what is there */

	if (fd < 0) {
		rc = err_set_errno(err, errno, "cannot create '%s'", draft);
		free(draft);
		return rc;
	}
	rc = write_key(fd, draft, key, err);
	close(fd);
	if (rc == 0 && rename(draft, path) != 0)
		rc = err_set_errno(err, errno, "cannot rename '%s'", draft);
	if (rc)
		unlink(draft);
	free(draft);
	return rc;
}

/* ---- the redactor ---- */

/* beside: what the key belongs to, whose owner is believed. */
static int open_key(const char *path, const char *beside, struct redactor **ret, struct err *err)
{
	unsigned char key[REDACT_KEY_BYTES];
	bool is_new = access(path, F_OK) != 0 && errno == ENOENT;
	int rc = is_new ? make_key(path, key, err) : read_key(path, beside, key, err);

	if (rc == 0) {
		*ret = redactor_with_key(key);
		(*ret)->made = is_new ? xstrdup(path) : NULL;
	}
	return rc;
}

int redactor_open(const char *tape_path, struct redactor **ret, struct err *err)
{
	char *path = tape_beside(tape_path, "key");
	int rc = open_key(path, tape_path, ret, err);

	free(path);
	return rc;
}

int redactor_of_tape(const char *tape_path, const char *other, struct redactor **ret, struct err *err)
{
	char *path = tape_beside(tape_path, "key");
	unsigned char key[REDACT_KEY_BYTES];
	bool known = read_key(path, tape_path, key, NULL) == 0;

	free(path);
	if (!known)
		return other ? open_key(other, other, ret, err) : redactor_random(ret, err);
	*ret = redactor_with_key(key);
	return 0;
}

int redactor_random(struct redactor **ret, struct err *err)
{
	unsigned char key[REDACT_KEY_BYTES];

	if (getrandom(key, REDACT_KEY_BYTES, 0) != REDACT_KEY_BYTES)
		return err_set_errno(err, errno, "cannot get random bytes");
	*ret = redactor_with_key(key);
	return 0;
}

struct redactor *redactor_with_key(const unsigned char key[32])
{
	struct redactor *r = xcalloc(1, sizeof(*r));

	memcpy(r->key, key, REDACT_KEY_BYTES);
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
