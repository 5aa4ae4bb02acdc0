/* pin_pending.c: see pin_pending.h. */
#include "recorder/pin_pending.h"

#include "schema/base/config_file.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "schema/tape/beside.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENDING "pin-pending"

void pin_pending_write(const char *tape_path, const struct pin_pending *pending)
{
	char *path = tape_beside(tape_path, ENDING);
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
	char *path = tape_beside(tape_path, ENDING);
	struct buf json;
	bool found;

	buf_init(&json, LIMIT_CONFIG_BYTES);
	found = read_config_text(path, &json, NULL) == 0 && take(buf_slice(&json), ret);
	buf_release(&json);
	free(path);
	return found;
}

void pin_pending_remove(const char *tape_path)
{
	char *path = tape_beside(tape_path, ENDING);

	unlink(path);
	free(path);
}
