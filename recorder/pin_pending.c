/* pin_pending.c: see pin_pending.h. */
#include "recorder/pin_pending.h"

#include "schema/base/config_file.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *path_of(const char *tape_path)
{
	size_t len = strlen(tape_path);

	while (len > 1 && tape_path[len - 1] == '/')
		len--;
	return xasprintf("%.*s.pin-pending", (int)len, tape_path);
}

void pin_pending_write(const char *tape_path, const struct pin_pending *pending)
{
	char *path = path_of(tape_path);
	char *json = xasprintf(
		"{\"name\": \"%s\", \"moment_ns\": %lld}\n", pending->name, (long long)pending->moment_ns);

	(void)!out_file_write(path, slice_of(json), NULL);
	free(json);
	free(path);
}

/* A name is made of digits, letters and hyphens, and a file's. */
static bool take(struct slice json, struct pin_pending *ret)
{
	struct slice name, moment;

	if (json_get(json, "$.name", &name, NULL) <= 0 || json_get(json, "$.moment_ns", &moment, NULL) <= 0 ||
		name.len < 3 || memchr(name.ptr, '/', name.len) || memchr(name.ptr, '\\', name.len))
		return false;
	ret->name = slice_dup((struct slice){name.ptr + 1, name.len - 2});
	ret->moment_ns = strtoll(moment.ptr, NULL, 10); /* a brace follows: it ends */
	return true;
}

bool pin_pending_read(const char *tape_path, struct pin_pending *ret)
{
	char *path = path_of(tape_path);
	struct buf json;
	bool found;

	buf_init(&json, LIMIT_CONFIG_BYTES);
	found = read_config_file(path, &json, NULL) == 0 && buf_append(&json, "", 1, NULL) == 0;
	json.len -= found;
	found = found && take(buf_slice(&json), ret);
	buf_release(&json);
	free(path);
	return found;
}

void pin_pending_remove(const char *tape_path)
{
	char *path = path_of(tape_path);

	unlink(path);
	free(path);
}
