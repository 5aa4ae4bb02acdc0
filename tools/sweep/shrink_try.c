/* shrink_try.c: a tape and a fault file of what is kept, and a run of the command; see shrink.h. */
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "schema/base/version.h"
#include "schema/tape/position.h"
#include "tools/cli/read_file.h"
#include "tools/sweep/shrink.h"

#include <ctype.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the tape ---- */

static int write_tape(struct shrink *s, const char *path, struct remake_result *ret, struct err *err)
{
	uint32_t *ids = xcalloc(s->resources.count + 1, sizeof(*ids));
	struct remake_options options = {
		.resources = ids,
		.hooks = {.wants = shrink_wants,
			.rewrite = shrink_rewrite,
			.rewrite_document = shrink_rewrite_document,
			.context = s},
		.program = "kubetape " KUBETAPE_VERSION,
	};
	int rc;

	for (size_t i = 0; i < s->resources.count; i++) {
		if (s->resources.kept[i])
			ids[options.resource_count++] = (uint32_t)i + 1;
	}
	rc = tape_remake(s->tape, path, &options, ret, err);
	free(ids);
	return rc;
}

/* ---- the fault file: what it says of positions holds for the new tape ---- */

/* How many events there are up to that one. */
static int count_kept(struct shrink *s, uint64_t seq, uint64_t *ret, struct err *err)
{
	const struct tape_filter filter = {.seq_max = seq};
	struct tape_cursor *c;
	struct event e;
	int more = tape_cursor_open(s->tape, &filter, TAPE_FORWARD, &c, err);

	*ret = 0;
	if (more)
		return more;
	while ((more = tape_cursor_next(c, &e, err)) > 0)
		*ret += (uint64_t)shrink_wants(s, &e, err);
	tape_cursor_close(c);
	return more;
}

/* The objects that the tape begins with have the first numbers. */
static int count_state(struct shrink *s, uint64_t *ret, struct err *err)
{
	struct tape_state *state;
	struct tape_info info;
	int rc = tape_info(s->tape, &info, err);

	*ret = 0;
	if (rc || info.first_seq < 2)
		return rc;
	rc = tape_state_at(s->tape, info.first_seq - 1, 0, &state, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < state->count; i++) {
		const struct tape_live *live = &state->live[i];
		const struct event e = {.seq = live->seq,
			.resource = live->resource,
			.namespace = live->namespace,
			.name = live->name};

		*ret += (uint64_t)shrink_wants(s, &e, err);
	}
	tape_state_free(state);
	return 0;
}

/* The number that an event has on the new tape; for one that is gone, of the one before it. */
static int map_seq(struct shrink *s, uint64_t seq, uint64_t *ret, struct err *err)
{
	uint64_t state, kept;
	int rc = count_state(s, &state, err);

	if (!rc)
		rc = count_kept(s, seq, &kept, err);
	if (!rc)
		*ret = state + kept;
	return rc;
}

/* A position, as an event's number or as a time that does not count from events which may be gone. */
static int map_position(struct shrink *s, char **text, struct err *err)
{
	char time[TIME_TEXT_BYTES];
	struct tape_position p;
	uint64_t seq;
	int rc = *text ? tape_position_find(s->tape, *text, &p, err) : 1;

	if (rc)
		return rc < 0 ? rc : 0;
	if (p.by_time) {
		free(*text);
		*text = xstrdup(time_format(time, p.time_ns));
		return 0;
	}
	rc = map_seq(s, p.seq, &seq, err);
	if (rc)
		return rc;
	free(*text);
	*text = xasprintf("seq:%llu", (unsigned long long)seq);
	return 0;
}

/* Where a number that `seq` is compared with begins in an expression, after *at; NULL: there is no further one. */
static const char *find_seq(const char *at)
{
	while ((at = strstr(at, "seq"))) {
		const char *number = at + strlen("seq");

		number += strspn(number, " =<>");
		if (number > at + strlen("seq") && isdigit((unsigned char)*number))
			return number;
		at += strlen("seq");
	}
	return NULL;
}

/* "seq=9": an event that is gone cannot be the one. */
static int map_one(struct shrink *s, const char *number, char **ret_end, uint64_t *ret, struct err *err)
{
	uint64_t seq = strtoull(number, ret_end, 10), before = 0;
	int rc = map_seq(s, seq, ret, err);

	if (!rc && seq && number[-1] == '=')
		rc = map_seq(s, seq - 1, &before, err);
	if (!rc && number[-1] == '=' && before == *ret)
		*ret = 0;
	return rc;
}

static int map_expression(struct shrink *s, char **text, struct err *err)
{
	const char *at = *text, *number;
	struct buf mapped;
	int rc = 0;

	if (!at || !find_seq(at))
		return 0;
	buf_init(&mapped, LIMIT_CONFIG_BYTES);
	while (!rc && (number = find_seq(at))) {
		uint64_t seq;
		char *end;

		rc = map_one(s, number, &end, &seq, err);
		if (!rc)
			rc = buf_printf(
				&mapped, err, "%.*s%llu", (int)(number - at), at, (unsigned long long)seq);
		at = end;
	}
	if (!rc)
		rc = buf_append(&mapped, at, strlen(at) + 1, err);
	if (!rc) {
		free(*text);
		*text = xstrdup(mapped.ptr);
	}
	buf_release(&mapped);
	return rc;
}

static int map_rule(struct shrink *s, struct fault_rule *rule, struct err *err)
{
	int rc;

	if ((rc = map_position(s, &rule->when.at, err)) || (rc = map_position(s, &rule->when.since, err)) ||
		(rc = map_expression(s, &rule->when.event, err)))
		return rc;
	return map_position(s, &rule->what.as_of, err);
}

static int parse_faults(const struct shrink *s, struct fault_file *ret, struct err *err)
{
	struct buf text;
	int rc;

	buf_init(&text, LIMIT_CONFIG_BYTES);
	rc = read_file(s->o.gaps, &text, err);
	if (!rc)
		rc = fault_file_parse(buf_slice(&text), s->o.gaps, ret, err);
	buf_release(&text);
	return rc;
}

/* Rules that are kept move to the front. */
static int choose_rules(struct shrink *s, struct fault_file *file, struct err *err)
{
	size_t count = 0;
	int rc = 0;

	for (size_t i = 0; i < file->count; i++) {
		if (!s->rules.kept[i]) {
			fault_rule_release(&file->rules[i]);
			continue;
		}
		if (!rc)
			rc = map_rule(s, &file->rules[i], err);
		file->rules[count++] = file->rules[i];
	}
	file->count = count;
	return rc;
}

static int write_faults(struct shrink *s, const char *path, struct err *err)
{
	struct fault_file file = {0};
	struct buf text;
	int rc = parse_faults(s, &file, err);

	if (rc)
		return rc;
	buf_init(&text, LIMIT_CONFIG_BYTES);
	rc = choose_rules(s, &file, err);
	if (!rc)
		rc = fault_file_write(&file, &text, err);
	if (!rc)
		rc = out_file_write(path, buf_slice(&text), err);
	buf_release(&text);
	fault_file_release(&file);
	return rc;
}

int shrink_write(
	struct shrink *s, const char *tape, const char *faults, struct remake_result *ret, struct err *err)
{
	int rc = write_tape(s, tape, ret, err);

	return rc || !s->has_faults ? rc : write_faults(s, faults, err);
}

/* ---- a run ---- */

static bool has_text(const char *path, const char *text)
{
	struct buf log;
	bool found = false;

	buf_init(&log, LIMIT_DOCUMENT_BYTES);
	if (read_file(path, &log, NULL) == 0 && buf_append(&log, "", 1, NULL) == 0)
		found = memmem(log.ptr, log.len, text, strlen(text)) != NULL;
	buf_release(&log);
	return found;
}

/* 1: `ret` has what it came to, and whether its output has the text; 0: the user has stopped it. */
static int run_once(
	struct shrink *s, const char *faults, struct sweep_answer *ret, bool *ret_match, struct err *err)
{
	char *log;
	int rc;

	s->runs.slot[0] = (struct sweep_slot){.number = 1, .faults = faults};
	rc = sweep_run_start(&s->runs, 0, err);
	if (rc)
		return rc;
	if (sweep_jobs_wait(s->runs.job, 1, NULL) < 0) {
		s->stopped = true;
		return 0;
	}
	rc = sweep_run_read(&s->runs, 0, ret, err);
	log = sweep_run_file(&s->runs, &s->runs.slot[0], "log");
	*ret_match = !s->o.match || has_text(log, s->o.match);
	free(log);
	sweep_run_remove(&s->runs, &s->runs.slot[0]);
	return rc ? rc : 1;
}

static char *tried_tape(const struct shrink *s)
{
	return xasprintf("%s/tried.ktape", s->runs.folder);
}

static char *tried_faults(const struct shrink *s)
{
	return s->has_faults ? xasprintf("%s/tried.faults.json", s->runs.folder) : xstrdup(s->o.gaps);
}

static bool is_alike(const struct shrink *s, const struct sweep_answer *answer)
{
	return answer->end == s->end && (answer->end != SWEEP_BY_ITSELF || answer->exit_code == s->exit_code);
}

/* ---- beside a run without faults ---- */

/* Appends in what they differ. 1; 0: the user has stopped it. */
static int run_both(struct shrink *s, const char *faults, struct buf *differences, struct err *err)
{
	struct sweep_answer without, with;
	bool match;
	int rc = run_once(s, "none", &without, &match, err);

	if (rc <= 0)
		return rc;
	rc = run_once(s, faults, &with, &match, err);
	if (rc > 0) {
		if (match)
			(void)sweep_compare(&s->measure, &without, &with, "without the faults", differences);
		sweep_answer_release(&with);
	}
	sweep_answer_release(&without);
	return rc;
}

/* Whether one of the sentences of the first run is among these. */
static bool is_same_difference(const struct shrink *s, struct slice found)
{
	struct slice rest = slice_of(s->differences);

	while (rest.ptr && rest.len) {
		struct slice line = slice_cut(&rest, '\n');

		if (line.len && memmem(found.ptr, found.len, line.ptr, line.len))
			return true;
	}
	return false;
}

static int differs_alike(struct shrink *s, const char *faults)
{
	struct buf differences;
	struct err ignored;
	int rc;

	buf_init(&differences, LIMIT_DOCUMENT_BYTES);
	rc = run_both(s, faults, &differences, &ignored);
	rc = rc > 0 && differences.len && is_same_difference(s, buf_slice(&differences));
	buf_release(&differences);
	return rc;
}

/* What differs by itself does not count. */
static int learn_difference(struct shrink *s, struct err *err)
{
	struct sweep_answer one, other;
	struct buf differences;
	bool match;
	int rc = run_once(s, "none", &one, &match, err);

	if (rc <= 0)
		return rc;
	rc = run_once(s, "none", &other, &match, err);
	if (rc > 0) {
		sweep_measure_learn(&s->measure, &one, &other);
		if (one.watches) {
			free(s->runs.watches);
			s->runs.watches = xasprintf("%llu", (unsigned long long)one.watches);
		}
		sweep_answer_release(&other);
	}
	sweep_answer_release(&one);
	if (rc <= 0)
		return rc;
	buf_init(&differences, LIMIT_DOCUMENT_BYTES);
	rc = run_both(s, s->o.gaps, &differences, err);
	s->differences = slice_dup(buf_slice(&differences));
	buf_release(&differences);
	if (rc <= 0 || *s->differences)
		return rc < 0 ? rc : 0;
	return err_set(
		err, ERR_FAILED, "the command does not go wrong: it comes to the same without the faults");
}

/* ---- one try ---- */

static int run_tried(struct shrink *s, const char *tape, const char *faults, struct err *err)
{
	struct sweep_answer answer;
	struct remake_result made;
	struct err ignored;
	bool match;
	int rc = shrink_write(s, tape, faults, &made, err);

	if (rc)
		return rc;
	s->runs.options.tape = tape;
	if (s->o.compares)
		return differs_alike(s, faults);
	/* A replay that does not take place, as of a fault file that the tape does not suit, is no such run. */
	rc = run_once(s, faults, &answer, &match, &ignored);
	if (rc <= 0)
		return 0;
	rc = match && is_alike(s, &answer);
	sweep_answer_release(&answer);
	return rc;
}

int shrink_try(struct shrink *s, struct err *err)
{
	char *tape = tried_tape(s), *faults = tried_faults(s);
	int rc;

	s->tries++;
	unlink(tape);
	rc = run_tried(s, tape, faults, err);
	free(tape);
	free(faults);
	return rc;
}

void shrink_clean(struct shrink *s)
{
	char *tape = tried_tape(s), *faults = tried_faults(s);

	unlink(tape);
	unlink(s->runs.secrets_key);
	if (s->has_faults)
		unlink(faults);
	rmdir(s->runs.folder);
	free(tape);
	free(faults);
}

/* ---- how it goes wrong ---- */

static int take_rules(struct shrink *s, struct err *err)
{
	struct fault_file file = {0};
	int rc = s->has_faults ? parse_faults(s, &file, err) : 1;

	if (rc)
		return rc < 0 ? rc : 0;
	for (size_t i = 0; i < file.count; i++)
		shrink_set_add(&s->rules, NULL);
	fault_file_release(&file);
	return 0;
}

int shrink_learn(struct shrink *s, struct err *err)
{
	struct sweep_answer answer;
	bool match;
	int rc = take_rules(s, err);

	if (!rc && s->o.compares)
		return learn_difference(s, err);
	if (rc || (rc = run_once(s, s->o.gaps, &answer, &match, err)) <= 0)
		return rc;
	s->end = answer.end;
	s->exit_code = answer.exit_code;
	if (answer.watches) {
		free(s->runs.watches);
		s->runs.watches = xasprintf("%llu", (unsigned long long)answer.watches);
	}
	sweep_answer_release(&answer);
	if (!match)
		return err_set(err, ERR_FAILED, "the command does not go wrong: its output lacks '%.100s'",
			s->o.match);
	if (s->end == SWEEP_TIMEOUT || s->exit_code || s->o.match)
		return 0;
	return err_set(err, ERR_FAILED,
		"the command does not go wrong: it ends with 0; say with --match what its output has if it does");
}
