/* sweep_merge.c: see sweep_merge.h. */
#include "tools/sweep/sweep_merge.h"

#include "recorder/push/s3.h"
#include "schema/base/hash.h"
#include "schema/base/limits.h"
#include "tools/cli/read_file.h"
#include "tools/sweep/sweep_place.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define SHARDS_MAX 100000
#define OF_POD     "index/"
#define POD_INDEX  "JOB_COMPLETION_INDEX" /* as Kubernetes sets it */

static int parse_numbers(const char *text, struct sweep_shard *ret, struct err *err)
{
	char *slash, *end;
	uint64_t index = strtoull(text, &slash, 10),
		 count = *slash == '/' ? strtoull(slash + 1, &end, 10) : 0;

	if (*text < '0' || *text > '9' || *slash != '/' || slash[1] < '0' || slash[1] > '9' || *end ||
		index >= count || count > SHARDS_MAX)
		return err_set(
			err, ERR_USAGE, "bad shard '%.100s': expected I/N, with I from 0 to N - 1", text);
	*ret = (struct sweep_shard){index, count};
	return 0;
}

int sweep_shard_parse(const char *text, struct sweep_shard *ret, struct err *err)
{
	const char *index = getenv(POD_INDEX);
	char *numbers;
	int rc;

	if (strncmp(text, OF_POD, strlen(OF_POD)) != 0)
		return parse_numbers(text, ret, err);
	if (!index || !*index)
		return err_set(err, ERR_USAGE,
			"'--shard %s' is for a pod of an Indexed Job: " POD_INDEX " is not set", text);
	numbers = xasprintf("%s/%s", index, text + strlen(OF_POD));
	rc = parse_numbers(numbers, ret, err);
	free(numbers);
	return rc;
}

/* What a fault is, wherever it is listed. */
static char *identity_of(const struct sweep_try *t)
{
	const struct sweep_position *p = t->narrowed_from ? t->narrowed_from : t->position;

	char *shown = p->as_of_seq
			      ? xasprintf(" %llu %s %llu", (unsigned long long)p->as_of_seq,
					p->others ? p->others : "", (unsigned long long)p->others_as_of_seq)
			      : xstrdup("");
	char *identity = xasprintf("%d %d %llu %llu %s %s %s %llu %s%s", p->pattern, p->kind,
		(unsigned long long)p->seq, (unsigned long long)p->last_seq, p->resource,
		p->object ? p->object : "", p->write ? p->write : "", (unsigned long long)p->nth, t->words,
		shown);

	free(shown);
	return identity;
}

bool sweep_shard_has(const struct sweep_shard *shard, const struct sweep_try *t)
{
	char *identity = identity_of(t);
	uint64_t hash = hash_add(HASH_EMPTY, slice_of(identity));

	free(identity);
	return !shard->count || (hash ^ hash >> 32) % shard->count == shard->index;
}

/* ---- what a report says ---- */

static int read_report(const char *place, struct buf *to, struct err *err)
{
	char *path;
	int rc;

	if (s3_is_url(place))
		return sweep_place_read(place, to, err);
	path = xasprintf("%s/" SWEEP_REPORT_NAME, place);
	rc = read_file(path, to, err);
	free(path);
	return rc;
}

int sweep_report_read(const char *place, cJSON **ret, struct err *err)
{
	struct buf text;
	int rc;

	buf_init(&text, LIMIT_DOCUMENT_BYTES);
	rc = read_report(place, &text, err);
	if (rc == 0)
		rc = json_tree_parse(buf_slice(&text), ret, err);
	buf_release(&text);
	return rc;
}

static const char *text_of(const cJSON *of, const char *name)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(of, name);

	return cJSON_IsString(value) ? value->valuestring : NULL;
}

static uint64_t number_of(const cJSON *of, const char *name)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(of, name);

	return cJSON_IsNumber(value) && value->valuedouble > 0 ? (uint64_t)value->valuedouble : 0;
}

static bool is_true(const cJSON *of, const char *name)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(of, name));
}

static char *copy_of(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

/* Where a word stands in a list of names; -1: it is none of them. */
static int find_name(const char *word, const char *const *names, int count)
{
	for (int i = 0; word && i < count; i++) {
		if (strcmp(word, names[i]) == 0)
			return i;
	}
	return -1;
}

static char *lines_of(const cJSON *list)
{
	char *lines = NULL;
	const cJSON *line;

	cJSON_ArrayForEach(line, list)
	{
		char *longer = cJSON_IsString(line)
				       ? xasprintf("%s%s\n", lines ? lines : "", line->valuestring)
				       : NULL;

		if (longer) {
			free(lines);
			lines = longer;
		}
	}
	return lines;
}

/* ---- faults ---- */

static void try_release(struct sweep_try *t)
{
	free(t->faults);
	free(t->differences);
	free(t->repeat);
}

static int take_place(const cJSON *gap, struct sweep_position *p, struct err *err)
{
	int pattern = find_name(text_of(gap, "pattern"), sweep_pattern_names, SWEEP_PATTERNS);
	int kind = find_name(text_of(gap, "kind"), sweep_kind_names, SWEEP_KINDS);
	const char *resource = text_of(gap, "resource");

	if (pattern < 0 || kind < 0 || sweep_verdict_find(text_of(gap, "verdict")) < 0 ||
		!text_of(gap, "gap"))
		return err_set(err, ERR_PROTOCOL,
			"a fault of the report makes no sense: pattern '%s', kind '%s'",
			text_of(gap, "pattern"), text_of(gap, "kind"));
	*p = (struct sweep_position){.pattern = (enum sweep_pattern)pattern,
		.kind = (enum sweep_kind)kind,
		.seq = number_of(gap, "seq"),
		.last_seq = number_of(gap, "last_seq"),
		.hidden = number_of(gap, "hidden"),
		.as_of_seq = number_of(gap, "as_of_seq"),
		.before_answer = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(gap, "before_answer")),
		.late_writes = number_of(gap, "late_writes"),
		.until_seq = number_of(gap, "until_seq"),
		.nth = number_of(gap, "nth"),
		.resource = xstrdup(resource ? resource : ""),
		.others = copy_of(text_of(gap, "others")),
		.others_as_of_seq = number_of(gap, "others_as_of_seq"),
		.object = copy_of(text_of(gap, "object")),
		.what = copy_of(text_of(gap, "what")),
		.write = copy_of(text_of(gap, "write"))};
	return 0;
}

static void take_findings(const cJSON *gap, const char *from, const char *to, struct sweep_try *t)
{
	const char *faults = text_of(gap, "faults"), *repeat = text_of(gap, "repeat");

	try_release(t);
	t->verdict = (enum sweep_verdict)sweep_verdict_find(text_of(gap, "verdict"));
	t->faults = sweep_move_text(faults ? faults : "", from, to);
	t->repeat = repeat ? sweep_move_text(repeat, from, to) : NULL;
	t->further_runs = (unsigned)number_of(gap, "further_runs");
	t->further_wrong = (unsigned)number_of(gap, "further_wrong");
	t->differences = lines_of(cJSON_GetObjectItemCaseSensitive(gap, "differences"));
}

static struct sweep_try *find_try(struct sweep_merged *m, const struct sweep_try *like)
{
	char *wanted = identity_of(like);
	struct sweep_try *found = NULL;

	for (size_t i = 0; i < m->count && !found; i++) {
		char *identity = identity_of(&m->tries[i]);

		if (strcmp(identity, wanted) == 0)
			found = &m->tries[i];
		free(identity);
	}
	free(wanted);
	return found;
}

static void position_release(struct sweep_position *p)
{
	if (!p)
		return;
	free(p->resource);
	free(p->others);
	free(p->object);
	free(p->what);
	free(p->write);
	free(p);
}

/* The place that a finding was narrowed down from, by which it is known; NULL: it was not. */
static struct sweep_position *wider_place(const cJSON *gap, const struct sweep_position *place)
{
	const cJSON *from = cJSON_GetObjectItemCaseSensitive(gap, "narrowed_from");
	struct sweep_position *wider;

	if (!cJSON_IsObject(from))
		return NULL;
	wider = xcalloc(1, sizeof(*wider));
	*wider = *place;
	wider->resource = xstrdup(place->resource);
	wider->others = copy_of(place->others);
	wider->object = copy_of(place->object);
	wider->what = copy_of(place->what);
	wider->write = copy_of(place->write);
	wider->seq = number_of(from, "seq");
	wider->last_seq = number_of(from, "last_seq");
	wider->hidden = number_of(from, "hidden");
	return wider;
}

static void places_release(struct sweep_try *t)
{
	position_release((struct sweep_position *)t->position);
	position_release((struct sweep_position *)t->narrowed_from);
}

static struct sweep_try *add_try(struct sweep_merged *m, const struct sweep_try *new)
{
	struct sweep_try *t;

	m->tries = xrealloc(m->tries, (m->count + 1) * sizeof(*m->tries));
	t = &m->tries[m->count++];
	*t = (struct sweep_try){.words = xstrdup(new->words), .number = m->count};
	return t;
}

/* A fault that is known already counts as the shard says that tried it. */
static int take_gap(
	struct sweep_merged *m, const cJSON *gap, const char *from, const char *to, struct err *err)
{
	struct sweep_position *place = xcalloc(1, sizeof(*place));
	struct sweep_try new = {.position = place}, *known;
	int rc = take_place(gap, place, err);

	if (rc) {
		free(place);
		return rc;
	}
	new.narrowed_from = wider_place(gap, place);
	new.words = text_of(gap, "gap");
	known = find_try(m, &new);
	known = known ? known : add_try(m, &new);
	if (known->position && known->verdict != SWEEP_UNTRIED) {
		places_release(&new);
		return 0;
	}
	places_release(known);
	known->position = new.position;
	known->narrowed_from = new.narrowed_from;
	take_findings(gap, from, to, known);
	return 0;
}

/* ---- reports ---- */

static void take_texts(struct text_list *to, const cJSON *list)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
	{
		if (cJSON_IsString(item))
			(void)text_list_keep(to, item->valuestring);
	}
}

/* By its id, or as it was named. */
static bool is_of_tape(const struct sweep_merged *m, const cJSON *report)
{
	const char *id = text_of(report, "tape_id");

	if (id && m->report.tape_id)
		return strcmp(m->report.tape_id, id) == 0;
	return strcmp(m->report.tape, text_of(report, "tape")) == 0;
}

static int check_same(const struct sweep_merged *m, const cJSON *report, const char *folder, struct err *err)
{
	const cJSON *without = cJSON_GetObjectItemCaseSensitive(report, "without");

	if (!is_of_tape(m, report))
		return err_set(err, ERR_USAGE, "'%s' is a sweep of '%s', the others are of '%s'%s", folder,
			text_of(report, "tape"), m->report.tape,
			strcmp(m->report.tape, text_of(report, "tape")) == 0 ? ", which was another tape"
									     : "");
	if (sweep_asked_check(m, report, folder, err))
		return ERR_USAGE;
	if ((uint64_t)m->without.exit_code == number_of(without, "exit_code") &&
		m->without.effect_count == number_of(without, "left"))
		return 0;
	return err_set(err, ERR_USAGE,
		"without faults the command came to something else in '%s': exit code %llu and %llu things left, "
		"in the others %lld and %zu",
		folder, (unsigned long long)number_of(without, "exit_code"),
		(unsigned long long)number_of(without, "left"), (long long)m->without.exit_code,
		m->without.effect_count);
}

static void take_head(struct sweep_merged *m, const cJSON *report)
{
	const cJSON *without = cJSON_GetObjectItemCaseSensitive(report, "without");
	const char *ended_by = text_of(without, "ended_by");

	m->report.tape = copy_of(text_of(report, "tape"));
	m->report.tape_id = copy_of(text_of(report, "tape_id"));
	sweep_asked_read(report, &m->asked, &m->command);
	m->report.again = copy_of(text_of(report, "again"));
	m->report.jobs = number_of(report, "jobs");
	m->without.end = ended_by && strcmp(ended_by, "quiet") == 0 ? SWEEP_QUIET : SWEEP_BY_ITSELF;
	m->without.exit_code = (int64_t)number_of(without, "exit_code");
	m->without.effect_count = number_of(without, "left");
	m->report.gc = is_true(without, "gc");
	m->positions.delivered = number_of(without, "events");
}

static void take_left_out(struct sweep_merged *m, const cJSON *report)
{
	const char *why = text_of(report, "why_left_out");
	const cJSON *name;

	cJSON_ArrayForEach(name, cJSON_GetObjectItemCaseSensitive(report, "left_out"))
	{
		int pattern = find_name(cJSON_GetStringValue(name), sweep_pattern_names, SWEEP_PATTERNS);

		m->report.left_out |= pattern < 0 ? 0 : 1u << pattern;
	}
	if (m->report.left_out && !m->report.why_left_out)
		m->report.why_left_out = copy_of(why ? why : "the command is not deterministic");
}

static int take_report(struct sweep_merged *m, const cJSON *report, const char *folder, struct err *err)
{
	const cJSON *gap, *gaps = cJSON_GetObjectItemCaseSensitive(report, "gaps");
	const char *was = text_of(report, "folder");
	uint64_t found = number_of(report, "positions_found"), count = number_of(report, "positions");
	int rc = 0;

	if (!text_of(report, "tape") || !was || !cJSON_IsArray(gaps))
		return err_set(err, ERR_PROTOCOL, "'%s/sweep.json' is no report of a sweep", folder);
	if (!m->report.tape)
		take_head(m, report);
	else
		rc = check_same(m, report, folder, err);
	m->report.found = found > m->report.found ? found : m->report.found;
	m->positions.count = count > m->positions.count ? count : m->positions.count;
	m->report.alone |= is_true(report, "alone");
	take_texts(&m->measure.unsteady, cJSON_GetObjectItemCaseSensitive(report, "unsteady"));
	take_texts(&m->ignored, cJSON_GetObjectItemCaseSensitive(report, "ignored"));
	take_left_out(m, report);
	cJSON_ArrayForEach(gap, gaps)
	{
		rc = rc ? rc : take_gap(m, gap, was, folder, err);
	}
	return rc;
}

static int take_place_of(struct sweep_merged *m, const char *place, struct err *err)
{
	cJSON *report = NULL;
	int rc = sweep_report_read(place, &report, err);

	if (rc == 0)
		rc = take_report(m, report, place, err);
	cJSON_Delete(report);
	return rc;
}

/* What lies in a store comes here first, if there is a folder for it. */
static int take_stored(struct sweep_merged *m, const char *url, const char *into, struct err *err)
{
	char *part;
	int rc;

	if (!into)
		return take_place_of(m, url, err);
	part = xasprintf("%s/part-%zu", into, ++m->fetched);
	rc = sweep_place_fetch(url, part, err);
	rc = rc ? rc : take_place_of(m, part, err);
	free(part);
	return rc;
}

/* ---- where reports are ---- */

static bool has_report(const char *folder)
{
	char *path = xasprintf("%s/" SWEEP_REPORT_NAME, folder);
	bool has = access(path, F_OK) == 0;

	free(path);
	return has;
}

static int names_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The folders of a folder that have a report, by name. */
static int find_below(const char *folder, struct text_list *to, struct err *err)
{
	size_t before = to->count;
	DIR *dir = opendir(folder);

	if (!dir)
		return err_set_errno(err, errno, "cannot open '%s'", folder);
	for (struct dirent *e; (e = readdir(dir));) {
		char *path = xasprintf("%s/%s", folder, e->d_name);

		if (*e->d_name != '.' && has_report(path))
			text_list_add(to, path);
		else
			free(path);
	}
	closedir(dir);
	if (to->count > before)
		qsort(to->items + before, to->count - before, sizeof(*to->items), names_compare);
	else
		return err_set(
			err, ERR_NOT_FOUND, "no " SWEEP_REPORT_NAME " in '%s', nor in its folders", folder);
	return 0;
}

static int find_reports(const char *place, struct text_list *to, struct err *err)
{
	if (s3_is_url(place))
		return sweep_place_find(place, to, err);
	if (!has_report(place))
		return find_below(place, to, err);
	text_list_add(to, xstrdup(place));
	return 0;
}

static int merge_found(
	struct sweep_merged *m, const struct text_list *found, const char *into, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < found->count && !rc; i++) {
		if (s3_is_url(found->items[i]))
			rc = take_stored(m, found->items[i], into, err);
		else
			rc = take_place_of(m, found->items[i], err);
	}
	return rc;
}

int sweep_merge(const struct text_list *places, const char *into, struct sweep_merged *ret, struct err *err)
{
	struct text_list found = {0};
	int rc = 0;

	*ret = (struct sweep_merged){0};
	for (size_t i = 0; i < places->count && !rc; i++)
		rc = find_reports(places->items[i], &found, err);
	rc = rc ? rc : merge_found(ret, &found, into, err);
	text_list_release(&found);
	ret->report.without = &ret->without;
	ret->report.positions = &ret->positions;
	ret->report.measure = &ret->measure;
	ret->report.ignored = &ret->ignored;
	ret->report.asked = &ret->asked;
	ret->report.command = &ret->command;
	ret->report.tries = ret->tries;
	ret->report.count = ret->count;
	return rc;
}

void sweep_merged_release(struct sweep_merged *m)
{
	for (size_t i = 0; i < m->count; i++) {
		try_release(&m->tries[i]);
		places_release(&m->tries[i]);
		free((char *)m->tries[i].words);
	}
	free(m->tries);
	sweep_measure_release(&m->measure);
	text_list_release(&m->ignored);
	text_list_release(&m->asked);
	text_list_release(&m->command);
	free((char *)m->report.tape);
	free((char *)m->report.tape_id);
	free((char *)m->report.why_left_out);
	free(m->report.again);
}
